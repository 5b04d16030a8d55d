import { expect, test } from "vitest";
import { killable, killedWrites } from "../lib/kills.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await killable();

test("files are complete or absent after a kill during the write", async () => {
  expect(await killedWrites(server, await temporaryDirectory(), 1, 2)).toBeGreaterThan(0);
});
