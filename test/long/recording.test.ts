import { test } from "vitest";
import { readsAnything } from "../lib/damaged-files.ts";

test("shows or rejects any file", async () => {
  await readsAnything(5000, 1);
});
