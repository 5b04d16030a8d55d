/** The built program, killed at random moments while it tunes. */
import { test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { tunable, tuneWithKills } from "../lib/tune-kills.ts";

const turns = Number(process.env["TUNING_KILLS"] ?? 50);

test("no kill of a tuning leaves a knowledge base, is paid twice or changes the verdict", async () => {
  const server = await testSandbox({ models: true });
  const home = await temporaryDirectory();
  await tuneWithKills(server, home, await tunable(server, home), { seed: 7, turns });
});
