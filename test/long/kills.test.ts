import { expect, test } from "vitest";
import { killable, killedWrites } from "../lib/kills.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await killable();

test.each([2, 3, 4, 5, 6])(
  "files are complete or missing after 60 kills (seed %d)",
  async (seed) => {
    expect(await killedWrites(server, await temporaryDirectory(), seed, 60)).toBeGreaterThan(10);
  },
);
