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
import type { SuiteJudge } from "../../suite-file/index.ts";
import type { AskedTurn } from "./stored-run.ts";

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

/** What reports say about the calibrations of the judges of turns, or that there is none. */
export async function calibrationNotes(
  turns: readonly Pick<AskedTurn, "judge">[],
  context: Context,
): Promise<string[]> {
  const notes: string[] = [];
  const judges = turns.flatMap(({ judge }) => judge ?? []);
  for (const [app, all] of groupBy(judges, (judge) => judge.app)) {
    const criteria = new Set(all.map((judge) => judge.criteria));
    const known: string[] = [];
    for (const each of criteria) {
      const saved = await savedCalibration({ app, criteria: each }, context);
      if (saved) known.push(saved.note);
    }
    notes.push(...new Set(known));
    const some = known.length > 0 ? " for all of its criteria" : "";
    if (known.length < criteria.size)
      notes.push(`judge ${app} has not been calibrated on this machine${some}`);
  }
  return notes;
}

/** Warns of judges whose last calibration does not show that they are better than chance. */
export async function warnOfJudges(
  turns: readonly { readonly judge?: SuiteJudge | undefined }[],
  context: Context,
): Promise<void> {
  const judges = turns.flatMap(({ judge }) => judge ?? []);
  const different = groupBy(judges, ({ app, criteria }) => stringifyJson([app, criteria]));
  const warned = new Set<string>();
  for (const [judge] of different.values()) {
    const saved = judge && (await savedCalibration(judge, context));
    if (saved && typeof saved.chance === "string" && saved.chance !== "better")
      warned.add(saved.note);
  }
  for (const note of warned) await context.notice(`warning: ${note}`);
}

/** The passes of a test whose answers a judge decides. */
interface JudgedPasses extends Passes {
  readonly judge: NonNullable<AskedTurn["judge"]>;
}

/** The share of good answers among those of each judge, with the errors that it made when it was calibrated here. */
export async function judgedRates(
  tests: readonly JudgedPasses[],
  context: Context,
): Promise<readonly string[]> {
  const notes: string[] = [];
  for (const [, same] of groupBy(tests, ({ judge }) =>
    stringifyJson([judge.app, judge.criteria]),
  )) {
    const [judge, passed] = [same[0]?.judge, totalRate(same)];
    const { agreement } = (judge && (await savedCalibration(judge, context))) ?? {};
    const rate = passed && isAgreement(agreement) ? rateByJudge(passed, agreement) : null;
    if (judge && rate)
      notes.push(
        `with the errors of judge ${judge.app}, ${Math.round(100 * rate.rate)} % of the runs that it decides are good (95 %: ${intervalText(rate)})`,
      );
  }
  return notes;
}

const isAgreement = (value: unknown): value is Agreement =>
  isObject(value) &&
  ["good", "bad", "false_passes", "false_fails"].every((field) => isNumber(value[field]));
