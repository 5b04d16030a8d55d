/** A million IDs of rows are distinguished. */
import { test } from "vitest";
import { expectNewOnce, kindsOfIds } from "../lib/seen-ids.ts";

test.each(Object.entries(kindsOfIds))("a million IDs that %s are each new once", (_, idOf) => {
  expectNewOnce(1_000_000, idOf);
});
