import { CliError } from "../../../errors.ts";
import { formatDuration } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { readInput } from "../../task/files.ts";
import { parseQuestions } from "../eval/index.ts";
import type { Question } from "../eval/index.ts";
import { findKb } from "../knowledge/index.ts";
import {
  bundleSide,
  differencesOf,
  importBundle,
  kbSide,
  notImportable,
  differenceNote,
} from "../snapshot/index.ts";
import type { KbDifference, Manifest } from "../snapshot/index.ts";
import type { drillParams } from "./command.ts";
import { compareSearches } from "./drill-searches.ts";
import { allSnapshots, snapshotAt } from "./find.ts";
import { readManifestOf } from "./store.ts";
import { newTemporary, removeLeft } from "./temporary.ts";

type DrillInput = Input<typeof drillParams>;
type DrillRow = Omit<KbDifference, "what"> & { readonly what: string; readonly note: string };

/**
 * Restores a snapshot into a temporary knowledge base, compares the two, and removes it. Throws gate if anything
 * differs.
 */
export async function* run(input: DrillInput, context: Context): AsyncGenerator<DrillRow> {
  const { directory, map_model, wait_for_limit } = input;
  const started = context.host.elapsed();
  const questions = await questionsOf(input, context);
  await removeLeft(context);
  const snapshot = snapshotAt(input, await allSnapshots(directory, context));
  const manifest = await readManifestOf(directory, snapshot, context.host.files);
  // No restore brings back the others.
  const documents = manifest.state.documents.filter(({ file }) => file !== null);
  const as_is = documents.every(({ chunks }) => chunks !== undefined);
  const temporary = await newTemporary(context);
  let differences = 0;
  let isUnknown = false;
  try {
    const { name, description } = temporary;
    const settings = { ...manifest.state.settings, description };
    // Tags that do not exist would be created, and stay.
    const marked = { ...manifest, state: { ...manifest.state, documents, settings, tags: [] } };
    const flags = { directory, map_model, wait_for_limit, name, as_is, manifest: marked };
    for await (const _ of importBundle(flags, { ...context, summary: () => {} }));
    const id = await findKb(name, context);
    if (id === undefined) throw new CliError("failure", "the temporary knowledge base is gone");
    for await (const row of differing({ input, manifest: marked, id, as_is, name }, context)) {
      differences++;
      yield row;
    }
    for await (const row of compareSearches({ id, original: snapshot.kb.id, questions }, context)) {
      differences++;
      yield row;
    }
  } catch (error) {
    isUnknown = error instanceof CliError && error.info.sideEffect === "unknown";
    throw error;
  } finally {
    // After an interrupt nothing can be sent, and a lost create may still come: the next drill removes it.
    if (context.signal.aborted || isUnknown) temporary.leave();
    else await temporary.remove();
  }
  const took = formatDuration(context.host.elapsed() - started);
  const asked = questions.length > 0 ? `, asked ${counted(questions.length, "question")}` : "";
  const others = snapshot.documents - documents.length;
  const what = [
    `restored ${counted(documents.length, "document")} of ${snapshot.taken_at} in ${took}${asked}, and removed them again`,
    ...(others > 0 ? [`not restored: ${others} without a file`] : []),
    ...(as_is ? [] : ["chunks not compared, as not all documents have them"]),
  ].join("; ");
  if (differences === 0) return context.summary(`${what}: no differences`);
  throw new CliError("gate", `${counted(differences, "difference")}; ${what}`, {
    isResult: true,
    details: { differences },
  });
}

async function questionsOf(
  { questions: file }: DrillInput,
  { host }: Context,
): Promise<readonly Question[]> {
  if (file === undefined) return [];
  return (await parseQuestions(file.name, await readInput(file.path, host))).questions;
}

/** How the temporary knowledge base differs from the snapshot, except where no import can bring it. */
async function* differing(
  given: {
    readonly input: DrillInput;
    readonly manifest: Manifest;
    readonly id: string;
    readonly as_is: boolean;
    readonly name: string;
  },
  context: Context,
): AsyncGenerator<DrillRow> {
  const { input, manifest, id, as_is, name } = given;
  // An import makes any permission for selected members private.
  const { permission } = manifest.state.settings;
  const isPrivate = permission === "partial_members";
  const settings = { ...manifest.state.settings, ...(isPrivate && { permission: "only_me" }) };
  const state = { ...manifest.state, settings };
  const stored = await bundleSide(input.directory, { state }, context);
  const restored = await kbSide(id, context);
  for await (const row of differencesOf(stored, restored, { chunks: as_is }, context)) {
    const isMapped = row.what === "setting" && row.name === "embedding_model" && input.map_model;
    if (row.what === notImportable || isMapped) continue;
    yield { ...row, note: differenceNote(row, { a: input.directory, b: name }) };
  }
}
