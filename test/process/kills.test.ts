import { expect, test } from "vitest";
import { killable, killedWrites } from "../lib/kills.ts";
import { temporaryFolder } from "../lib/support.ts";

const server = await killable();

test("files that were being written when the program was killed are whole or not there", async () => {
  expect(await killedWrites(server, await temporaryFolder(), 1, 4)).toBeGreaterThan(0);
});
