import { join } from "node:path";
import { groupBy } from "../../../../lib/collect.ts";
import { isObject, stringifyJson, tryParseJson, valueAt } from "../../../../lib/json.ts";
import { isNumber } from "../../../../lib/server-event.ts";
import { rateByJudge } from "../../../../lib/statistics/judge-agreement.ts";
import type { Agreement } from "../../../../lib/statistics/judge-agreement.ts";
import { intervalText, totalRate } from "../../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { shortened } from "../../../../lib/text.ts";
import type { Context } from "../../../task/command-spec.ts";
import type { SuiteJudge, SuiteTurn } from "../../suite-file/index.ts";
import type { TestRun } from "./stored-run.ts";

/** A judge with its criteria: undefined for none, true for any. */
interface CalibratedJudge {
  readonly app: string;
  readonly criteria: string | true | undefined;
}

/** One file for each server, key, application and criteria. */
async function pathOf({ app, criteria }: CalibratedJudge, context: Context): Promise<string> {
  const values = ["wf test calibrate", criteria ?? false];
  const name = await context.with({ app }).api.fingerprint(values, []);
  return join(context.host.directories.state, "calibrations", `${name}.json`);
}

/** Remembers what reports say about a judge. Throws the system error if that cannot be written. */
export async function saveCalibration(
  judge: CalibratedJudge,
  saved: { readonly note: string; readonly chance: string; readonly agreement: Agreement },
  context: Context,
): Promise<void> {
  const { files, directories } = context.host;
  await files.makeDirectory(join(directories.state, "calibrations"), 0o700);
  await files.writeAtomic(await pathOf(judge, context), stringifyJson(saved), 0o600);
}

const MAX_NOTE = 400;

/** The last calibration on this machine; undefined without one, or without the key. */
async function savedCalibration({ app, criteria }: CalibratedJudge, context: Context) {
  for (const each of [criteria, true] as const) {
    const read = async () =>
      context.host.files.read(await pathOf({ app, criteria: each }, context));
    const saved = tryParseJson(new TextDecoder().decode(await read().catch(() => undefined)));
    const note = valueAt(saved, "note");
    if (typeof note === "string")
      return {
        note: shortened(note, MAX_NOTE),
        chance: valueAt(saved, "chance"),
        agreement: valueAt(saved, "agreement"),
      };
  }
  return undefined;
}

/** Who judges, by which criteria. */
type JudgedBy = Pick<SuiteJudge, "app" | "criteria">;

const keyOf = (judge: JudgedBy | null | undefined): string =>
  stringifyJson([judge?.app, judge?.criteria]);

/** The different judges of turns, each with its last calibration on this machine, if there is one. */
async function judgesOf(
  turns: readonly { readonly judge?: JudgedBy | null | undefined }[],
  context: Context,
) {
  const judges = turns.flatMap(({ judge }) => judge ?? []);
  const found = [];
  for (const judge of new Map(judges.map((each) => [keyOf(each), each])).values())
    found.push({ judge, saved: await savedCalibration(judge, context) });
  return found;
}

/** A test, whose last turn is the one that its judge decides about. */
interface JudgedTest extends Passes {
  readonly results: readonly Pick<TestRun, "turns">[];
}

/**
 * What reports say about the judges of tests: their calibrations, or that there is none, and with the errors that they
 * made there, the share of good answers among those that they decide.
 */
export async function judgeNotes(
  tests: readonly JudgedTest[],
  context: Context,
): Promise<readonly string[]> {
  const turns = tests.flatMap(({ results }) => results.flatMap((run) => run.turns));
  const judges = await judgesOf(turns, context);
  const calibrations = [...groupBy(judges, ({ judge }) => judge.app)].flatMap(([app, all]) => {
    const known = all.flatMap(({ saved }) => saved ?? []);
    const some = known.length > 0 ? " for all of its criteria" : "";
    return [
      ...new Set(known.map(({ note }) => note)),
      ...(known.length < all.length
        ? [`judge ${app} has not been calibrated on this machine${some}`]
        : []),
    ];
  });
  const rates = judges.flatMap(({ judge, saved }) => {
    const isDecided = ({ results: [run] }: JudgedTest) =>
      keyOf(run?.turns.at(-1)?.judge) === keyOf(judge);
    const [passed, agreement] = [totalRate(tests.filter(isDecided)), saved?.agreement];
    const rate = passed && isAgreement(agreement) ? rateByJudge(passed, agreement) : null;
    if (!rate) return [];
    return `with the errors of judge ${judge.app}, ${Math.round(100 * rate.rate)} % of the runs that it decides are good (95 %: ${intervalText(rate)})`;
  });
  return [...calibrations, ...rates];
}

/** Warns of judges whose last calibration does not show that they are better than chance. */
export async function warnOfJudges(
  turns: readonly Pick<SuiteTurn, "judge">[],
  context: Context,
): Promise<void> {
  const isWarned = (chance: unknown) => typeof chance === "string" && chance !== "better";
  const known = (await judgesOf(turns, context)).flatMap(({ saved }) => saved ?? []);
  const warned = known.filter(({ chance }) => isWarned(chance));
  for (const note of new Set(warned.map((each) => each.note)))
    await context.notice(`warning: ${note}`);
}

const isAgreement = (value: unknown): value is Agreement =>
  isObject(value) &&
  ["good", "bad", "false_passes", "false_fails"].every((field) => isNumber(value[field]));
