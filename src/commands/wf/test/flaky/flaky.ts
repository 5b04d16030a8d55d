import { usage } from "../../../../errors.ts";
import { commandLine } from "../../../../lib/command-line.ts";
import { counted } from "../../../../lib/text.ts";
import type { Input } from "../../../../operations/operation.ts";
import { left, literal, right } from "../../../../output/report-model.ts";
import type { Cell, Report, Tone } from "../../../../output/report-model.ts";
import type { Context } from "../../../task/command-spec.ts";
import { historyOf, observations, testHistories, verdicts } from "../index.ts";
import type { FlakyVerdict, TestHistory } from "../index.ts";
import type { testFlakyParams } from "./command.ts";

/** Reports which tests of a history are flaky. Throws `usage` if it has no results. */
export async function* run(
  { history: directory }: Input<typeof testFlakyParams>,
  context: Context,
): AsyncGenerator<Report> {
  const found: ReturnType<typeof observations>[] = [];
  const times: Date[] = [];
  for await (const results of historyOf(directory, context)) {
    found.push(observations(results));
    times.push(results.at);
  }
  if (times.length === 0)
    throw usage(
      `${directory} has no results of --history`,
      `add some with ${commandLine("wf test run", ["FILE"], { history: directory })}`,
    );
  const tests = testHistories(found.flat());
  yield flakyReport(tests.toSorted(byConcern), { directory, times });
}

/** The most urgent verdict first; of one verdict, the test that changed most often. */
const byConcern = (one: TestHistory, other: TestHistory): number =>
  verdicts.indexOf(one.verdict) - verdicts.indexOf(other.verdict) ||
  other.switches - one.switches ||
  (one.rate?.rate ?? 0) - (other.rate?.rate ?? 0);

const tones: Readonly<Record<FlakyVerdict["verdict"], Tone>> = {
  flaky: "warn",
  unclear: "warn",
  broken: "bad",
  failing: "bad",
  fixed: "good",
  passing: "good",
};

const dateOf = (time: string | null): Cell => (time === null ? null : new Date(time));

function flakyReport(
  tests: readonly TestHistory[],
  { directory, times }: { readonly directory: string; readonly times: readonly Date[] },
): Report {
  const flaky = tests.filter(({ verdict }) => verdict === "flaky").length;
  const sorted = times.toSorted((one, other) => one.getTime() - other.getTime());
  const [first, last] = [sorted[0], sorted.at(-1)].map((at) => at?.toISOString() ?? null);
  return {
    data: { wf_flaky: 1, directory, results: times.length, first, last, tests },
    title: "Flaky tests",
    sections: [
      {
        title: `${flaky} of ${counted(tests.length, "test")} flaky in ${counted(times.length, "result")}`,
        columns: [
          left("verdict"),
          literal("test"),
          right("passes"),
          { ...right("95 %"), minor: true },
          left("last results"),
          left("last failure"),
          { ...left("since"), minor: true },
        ],
        rows: tests.map((test): Cell[] => [
          { text: test.verdict, tone: tones[test.verdict] },
          test.name,
          `${test.passes}/${test.runs}`,
          test.rate && `${percent(test.rate.low)}–${percent(test.rate.high)} %`,
          test.last,
          dateOf(test.last_failure),
          dateOf(test.since),
        ]),
        notes: ["P passed, F failed; the newest result is the last one"],
      },
    ],
  };
}

const percent = (share: number): number => Math.round(share * 100);
