import { join } from "node:path";
import { CliError, ignoring, verdict } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { withoutNulls, isObject, tryParseJson, stringifyJson } from "../../../lib/json.ts";
import { formatDuration } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import {
  getKnowledgeBase,
  searchKnowledgeBase,
  deleteKnowledgeBase,
} from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { readInput, lockWork } from "../../task/files.ts";
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
import { snapshotAt } from "./snapshots.ts";
import { readManifestOf } from "./store.ts";

type DrillInput = Input<typeof drillParams>;

/** A question that a drill asks. */
interface Question {
  readonly question: string;
  /** Names of the documents that it must find. */
  readonly documents: readonly string[];
  readonly filter: Readonly<Record<string, unknown>> | undefined;
}

/** Reads the questions of a file from its name and content. */
type ReadQuestions = (
  name: string,
  content: Uint8Array,
) => Promise<{ readonly questions: readonly Question[] }>;

type DrillRow = Omit<KbDifference, "what"> & { readonly what: string; readonly note: string };

/** `kb backup drill`, whose questions this reads: their format belongs to what measures knowledge bases. */
export const drillWith = (readQuestions: ReadQuestions) => ({
  run: async function* (input: DrillInput, context: Context) {
    const { questions: file } = input;
    const read = file && (await readQuestions(file.name, await readInput(file.path, context.host)));
    yield* drill(input, read?.questions ?? [], context);
  },
});

/** Restores a snapshot into a temporary knowledge base, compares, and removes it. Throws gate for a difference. */
async function* drill(input: DrillInput, questions: readonly Question[], context: Context) {
  const { directory, map_model, wait_for_limit } = input;
  const started = context.host.elapsed();
  await removeLeft(context);
  const lineOf = (id: string): string =>
    commandLine("kb backup drill", [directory, input.kb], {
      "map-model": map_model,
      questions: input.questions?.path,
      snapshot: id,
    });
  const snapshot = await snapshotAt(input, lineOf, context);
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
    await temporary.end(context.host.signal.aborted || isUnknown);
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
  throw verdict("gate", `${counted(differences, "difference")}; ${what}`, { differences });
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

/**
 * Asks questions in a restored knowledge base and in the original one, with the settings of the latter, and yields
 * those that find other chunks. Without the original, a document that a question expects must be found.
 */
async function* compareSearches(
  given: {
    readonly id: string;
    readonly original: string;
    readonly questions: readonly Question[];
  },
  context: Context,
): AsyncGenerator<DrillRow> {
  const { id, original, questions } = given;
  if (questions.length === 0) return;
  const kb = await context.api
    .call(getKnowledgeBase, { dataset_id: original })
    .catch(ignoring("not-found"));
  const settings = (kb ?? (await context.api.call(getKnowledgeBase, { dataset_id: id })))
    .retrieval_model_dict;
  const find = async (dataset_id: string, { question: query, filter }: Question) => {
    const retrieval_model = withoutNulls({
      ...settings,
      ...(filter && { metadata_filtering_conditions: filter }),
    });
    const records = await context.api.call(searchKnowledgeBase, {
      dataset_id,
      query,
      retrieval_model: retrieval_model as { search_method: "keyword_search" },
    });
    return records.map(({ segment }) => [segment.document?.name ?? "", segment.content] as const);
  };
  for (const [done, question] of questions.entries()) {
    context.progress({ verb: "Asking", done, total: questions.length, unit: "questions" });
    const restored = await find(id, question);
    const before = kb && (await find(original, question));
    // Chunks of the same score come in any order.
    const [one, other] = [before, restored].map((found) => stringifyJson(found?.toSorted()));
    const names = new Set(restored.map(([document]) => document));
    const missing = question.documents.filter((document) => !names.has(document));
    if (before ? one === other : missing.length === 0) continue;
    const [a, b, note] = before
      ? [
          `${before.length} chunks`,
          `${restored.length} chunks`,
          "finds other chunks than the knowledge base",
        ]
      : [missing.join(), "", "does not find the document"];
    yield { what: "question", name: question.question, a, b, note };
  }
}

const folderOf = ({ host }: Context): string => join(host.directories.state, "drills");

const marksOf = (token: string) => ({
  name: `kb drill ${token}`,
  description: `Temporary: made by kb backup drill ${token}, which removes it`,
});

/** Notes a temporary knowledge base before it is created. `end` deletes it, or leaves it to the next drill. */
async function newTemporary(context: Context) {
  const { files } = context.host;
  const random = Math.floor(context.host.random() * 2 ** 20);
  // 16 digits: the time in ms, and what drills of the same moment differ in.
  const token = `${context.host.now().getTime().toString(16).padStart(11, "0")}${random.toString(16).padStart(5, "0")}`;
  const path = join(folderOf(context), `${token}.json`);
  await files.makeDirectory(folderOf(context), 0o700);
  const release = await lockWork(path, "another drill uses this name", context.host);
  const base_url = await context.api.baseUrl();
  await files.writeAtomic(path, `${JSON.stringify({ token, base_url })}\n`, 0o600);
  const end = async (isLeft: boolean) => {
    try {
      if (isLeft) return;
      await removeNoted(token, context);
      await files.remove(path);
    } finally {
      release();
    }
  };
  return { ...marksOf(token), end };
}

/**
 * Removes what interrupted drills of this machine have left on this server: knowledge bases with exactly the name
 * and the description that were noted. One that has another description by now is not touched.
 */
async function removeLeft(context: Context): Promise<void> {
  const { files } = context.host;
  const folder = folderOf(context);
  const base_url = await context.api.baseUrl();
  const entries = (await files.stat(folder)) ? await files.entries(folder) : [];
  for (const { name, isFile } of entries) {
    if (!isFile || !/^[0-9a-f]{16}\.json$/.test(name)) continue;
    const path = join(folder, name);
    const note = tryParseJson(new TextDecoder().decode(await files.read(path)));
    const token = name.slice(0, 16);
    if (isObject(note) && note["base_url"] !== base_url) continue; // that of another server
    const release = await lockWork(path, "", context.host).catch(ignoring("failure"));
    if (!release) continue; // it is running
    try {
      if (await removeNoted(token, context))
        await context.notice(
          `removed ${marksOf(token).name}, which an interrupted drill left behind`,
        );
      await files.remove(path);
    } finally {
      release();
    }
  }
}

/** Deletes the knowledge base of a token; false if there is none, or one that was changed. */
async function removeNoted(token: string, context: Context): Promise<boolean> {
  const { name, description } = marksOf(token);
  const dataset_id = await findKb(name, context);
  if (dataset_id === undefined) return false;
  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  if (kb.description !== description) {
    await context.notice(`kept ${name} (${dataset_id}): its description is not that of a drill`);
    return false;
  }
  await context.api.call(deleteKnowledgeBase, { dataset_id }).catch(ignoring("not-found"));
  return true;
}
