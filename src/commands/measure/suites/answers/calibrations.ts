import { join } from "node:path";
import { groupBy } from "../../../../lib/collect.ts";
import { tryParseJson, valueAt, stringifyJson } from "../../../../lib/json.ts";
import { shortened } from "../../../../lib/text.ts";
import type { Context } from "../../../task/command-spec.ts";
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
  note: string,
  context: Context,
): Promise<void> {
  const { files, directories } = context.host;
  await files.makeDirectory(join(directories.state, "calibrations"), 0o700);
  await files.writeAtomic(await pathOf(judge, context), stringifyJson({ note }), 0o600);
}

const MAX_NOTE = 300;

/** The note of the last calibration on this machine; undefined without one, or without the key. */
async function savedNote(judge: CalibratedJudge, context: Context): Promise<string | undefined> {
  const read = async () => context.host.files.read(await pathOf(judge, context));
  const text = new TextDecoder().decode(await read().catch(() => undefined));
  const note = valueAt(tryParseJson(text), "note");
  return typeof note === "string" ? shortened(note, MAX_NOTE) : undefined;
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
      const note =
        (await savedNote({ app, criteria: each }, context)) ??
        (await savedNote({ app, criteria: true }, context));
      if (note !== undefined) known.push(note);
    }
    notes.push(...new Set(known));
    const some = known.length > 0 ? " for all of its criteria" : "";
    if (known.length < criteria.size)
      notes.push(`judge ${app} has not been calibrated on this machine${some}`);
  }
  return notes;
}
