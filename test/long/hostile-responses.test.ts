/** Recorded responses with hostile text in all its strings, printed in every format. */
import { expect, test } from "vitest";
import { formats } from "../../src/output/style.ts";
import { runOnTerminal, lineFor } from "../lib/hostile-responses.ts";
import { exchanges } from "../lib/recordings.ts";
import { proved } from "../lib/sampled.ts";

const flagSets = [[], ["-v"], ["-vvv"], ...formats.map((format) => ["-o", format]), ["--jq", ".."]];
const withRequest = proved(
  5,
  exchanges.filter(({ request }) => request),
);

test.each(flagSets.map((flags) => [flags.join(" ") || "no flags", flags] as const))(
  "%s: no response controls the terminal",
  async (_title, flags) => {
    let runs = 0;
    for (const exchange of withRequest) {
      for (const sparing of [true, false]) {
        await runOnTerminal(exchange, sparing, [...lineFor(exchange), ...flags]);
        runs++;
      }
    }
    expect(runs).toBe(2 * withRequest.length);
  },
);
