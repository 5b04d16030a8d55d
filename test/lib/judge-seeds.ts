/** Judges with a known bias: what a calibration says about them. */
import { join } from "node:path";
import { biasesOf } from "../../src/lib/statistics/judge-agreement.ts";
import { readAnswerRules } from "../../src/sandbox/apps/definitions/read-rules.ts";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import { fixedNumber } from "../../src/sandbox/protocol/ids.ts";
import { write } from "./directory.ts";
import { fastClock } from "./fast-clock.ts";
import { cli, temporaryDirectory } from "./support.ts";

/** Answers to judge, and how many of the bad ones pass only when they are padded, or only reversed. */
export interface BiasedJudge {
  readonly pairs: number;
  readonly padded: number;
  readonly reversed: number;
}

/** How often a judge says the opposite of what it thinks. */
const ERRORS = 0.05;
const LEVEL = 0.05;

/** Changes with a significant bias, and its direction. */
export type Told = Readonly<Record<string, "more" | "fewer">>;

interface Printed {
  readonly change: string;
  readonly more: number;
  readonly fewer: number;
  readonly p: number;
}

const toldBy = (biases: readonly Printed[]): Told =>
  Object.fromEntries(
    biases
      .filter(({ p }) => p <= LEVEL)
      .map(({ change, more, fewer }) => [change, more > fewer ? "more" : "fewer"]),
  );

/** What an answer does: half of them are good, and some bad ones pass with a change. */
const kindOf = (index: number, { pairs, padded, reversed }: BiasedJudge): string => {
  if (index < padded) return "padded";
  if (index < padded + reversed) return "reversed";
  return index < pairs / 2 ? "bad" : "good";
};

/** Draws the verdicts without a server. */
export function drawnBias(judge: BiasedJudge, seed: number): Told {
  const verdict = (index: number, change: string) => {
    const kind = kindOf(index, judge);
    const isRight = fixedNumber(String(seed), String(index), change) >= ERRORS;
    return (kind === "good" || kind === change) === isRight;
  };
  const pairsOf = (change: string) =>
    Array.from(
      { length: judge.pairs },
      (_, index) => [verdict(index, "usual"), verdict(index, change)] as const,
    );
  const changes = (["reversed", "padded"] as const).map(
    (change) => [change, pairsOf(change)] as const,
  );
  return toldBy(biasesOf(changes));
}

/** Says pass or fail, and sometimes the opposite. */
const says = (verdict: "pass" | "fail") => [
  { answer: `{"verdict": "${verdict}"}`, weight: 1 - ERRORS },
  { answer: `{"verdict": "${verdict === "pass" ? "fail" : "pass"}"}`, weight: ERRORS },
];

const biased = readAnswerRules(
  {
    rules: [
      { question: "/(a padded text \\d+\\.) \\1/", answers: says("pass") },
      { question: "/begin answer[^]*a reversed text[^]*begin question/", answers: says("pass") },
      { question: "/a good text/", answers: says("pass") },
    ],
    otherwise: says("fail"),
  },
  "biased",
);

/** Calibrates a chat with this bias with `wf test calibrate`, against a sandbox with this seed. */
export async function playedBias(judge: BiasedJudge, seed: number): Promise<Told> {
  const folder = await temporaryDirectory();
  const rows = Array.from({ length: judge.pairs }, (_, index) => {
    const kind = kindOf(index, judge);
    return { question: "Which text?", answer: `a ${kind} text ${index}.`, label: kind === "good" };
  });
  await write(folder, { "labels.jsonl": rows.map((row) => JSON.stringify(row)).join("\n") });
  const clock = fastClock(50);
  const sandbox = await startSandbox({ clock, directory: null, seed, applications: [biased] });
  const env = {
    KB_BASE_URL: `${sandbox.origin}/v1`,
    KB_PROFILE: "sandbox",
    KB_SANDBOX_APP_KEYS: JSON.stringify(sandbox.appKeys),
  };
  const line = ["wf", "test", "calibrate", join(folder, "labels.jsonl"), "--judge", "biased"];
  try {
    const { out, err } = await cli([...line, "--pairs", "-q", "-o", "json"], { env, folder });
    if (out === "") throw new Error(err);
    return toldBy((JSON.parse(out) as { readonly biases: readonly Printed[] }).biases);
  } finally {
    await sandbox.stop();
  }
}
