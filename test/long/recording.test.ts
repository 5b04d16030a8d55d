import { test } from "vitest";
import { readsAnything } from "../lib/damaged-files.ts";

test("whatever a file holds, it is shown or refused", { timeout: 600_000 }, async () => {
  await readsAnything(5000, 1);
});
