/** The built program, killed while it tunes; `test/long/tune-kills.test.ts` kills more often. */
import { test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { tunable, tuneWithKills } from "../lib/tune-kills.ts";

test("a tuning that was killed is continued", async () => {
  const server = await testSandbox({ models: true });
  const home = await temporaryDirectory();
  await tuneWithKills(server, home, await tunable(server, home), { seed: 1, turns: 2 });
});
