/** Every recorded answer with evil in all its texts, printed in every way. */
import { expect, test } from "vitest";
import { formats } from "../../src/output/formats-list.ts";
import { actsOnNothing, lineFor } from "../lib/hostile-answers.ts";
import { exchanges } from "../lib/recordings.ts";

const ways = [[], ["-v"], ["-vvv"], ...formats.map((format) => ["-o", format]), ["--jq", ".."]];
const asked = exchanges.filter(({ request }) => request);

test.each(ways.map((flags) => [flags.join(" ") || "as it is", flags] as const))(
  "%s: no answer acts on a terminal",
  async (_way, flags) => {
    let runs = 0;
    for (const exchange of asked) {
      for (const sparing of [true, false]) {
        await actsOnNothing(exchange, sparing, [...lineFor(exchange), ...flags]);
        runs++;
      }
    }
    expect(runs).toBe(2 * asked.length);
  },
);
