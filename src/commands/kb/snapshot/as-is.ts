import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { refused, usage } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { valueAt } from "../../../lib/json.ts";
import { formatBytes, groupDigits } from "../../../lib/numbers.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { enableDocuments, unarchiveDocuments } from "../../../operations/documents.ts";
import type { Context } from "../../task/command-spec.ts";
import { withLost } from "../changes/index.ts";
import type { DocumentChange, DocumentTarget } from "../changes/index.ts";
import {
  chunkRules,
  embeddedCharacters,
  isCarried,
  makeChunks,
  planChunks,
  readChunks,
  readChunksOf,
} from "../chunk-lists/index.ts";
import type { ChunkCounts, ChunkRules, StoredChunk } from "../chunk-lists/index.ts";
import { lossesOf } from "../documents/index.ts";
import type { KbState } from "../documents/index.ts";
import type { Manifest } from "./bundle.ts";

/** An export whose chunks are imported as they are, and what its target can have. */
interface AsIs {
  readonly directory: string;
  readonly manifest: Manifest;
  readonly rules: ChunkRules;
}

/** Parts of chunks and documents that no import and no copy brings into another knowledge base. */
export const neverCarried =
  "ids, hit counts, tokens, times, authors and index hashes of chunks, whether child chunks were made by hand, languages of documents";

/**
 * Reads what an import as is needs to know. Throws usage for an export without the chunks of a document, with
 * `otherwise` as what to do, and refused for a target of another form: nothing is written then.
 */
export function asIsOf(
  { directory, otherwise }: { readonly directory: string; readonly otherwise?: string | undefined },
  manifest: Manifest,
  current: KbState | undefined,
): AsIs {
  const { state, rules, kb_export: version } = manifest;
  const again = otherwise ?? "export it again: kb export <kb> <dir>";
  const without = state.documents.filter(({ file, chunks }) => file !== null && !chunks);
  const [first] = without;
  if (first) {
    const count = counted(without.length, "document");
    throw usage(`no chunks are stored of ${count}: ${first.name}`, again);
  }
  // Lists have no child chunks of whole documents (server §9.8), and so had the first exports.
  const isFullDoc = (rule: unknown) => valueAt(rule, "rules.parent_mode") === "full-doc";
  if (version === 1 && Object.values(rules).some(isFullDoc))
    throw usage(
      "it was exported by a version that did not store child chunks of full-doc parents",
      again,
    );
  const [from, to] = [state.settings.doc_form, current?.settings.doc_form ?? null];
  if (current && current.documents.length > 0 && from !== to)
    throw refused(
      `chunks of the form ${from} cannot be imported into a knowledge base of the form ${to}`,
      "import into a new knowledge base with --name",
    );
  const target = (current ?? state).settings;
  return { directory, manifest, rules: chunkRules(target, from) };
}

/** The stored chunks of a document; undefined if the export has none. */
const chunksOf = ({ directory }: AsIs, { source }: DocumentChange, context: Context) => {
  const file = source?.exported?.chunks;
  return readChunksOf(directory, { chunks: file === undefined ? undefined : { file } }, context);
};

/** Was it disabled or archived in the target? Its chunks cannot be changed while it is. */
const isOnlyOffThere = ({ document, source }: DocumentChange): boolean =>
  (document?.enabled === false && source?.exported?.enabled !== false) ||
  (document?.archived === true && source?.exported?.archived !== true);
const offThere = "its chunks differ, but it is disabled or archived in the target";

/** What an import as is embeds, and what it leaves out. */
type Survey = ReturnType<typeof newSurvey>;

const newSurvey = () => ({
  /** Documents that are sent, and their bytes. */
  documents: 0,
  bytes: 0,
  /** Chunks of documents that are sent or changed, and the characters that are embedded of them. */
  chunks: 0,
  characters: 0,
  left: { failed: 0, empty: 0, summaries: 0, attachments: 0 },
});

/** Changes with those of indexed documents whose chunks differ, and what they embed and leave out. */
export async function withChunkChanges(
  changes: readonly DocumentChange[],
  asIs: AsIs,
  { id: dataset_id = "" }: { readonly id?: string | undefined },
  context: Context,
): Promise<{ readonly changes: DocumentChange[]; readonly survey: Survey }> {
  const { rules } = asIs;
  const total = changes.length;
  const checked: DocumentChange[] = [];
  const survey = newSurvey();
  const compared = async (change: DocumentChange, stored: readonly StoredChunk[]) => {
    const { document, action } = change;
    const isIndexed = action === "unchanged" || action === "metadata";
    if (!isIndexed || !document) return change;
    const place = { dataset_id, document_id: document.id, doc_form: rules.doc_form };
    const existing = await collect(readChunks(place, context));
    const steps = planChunks(stored, existing, rules);
    if (steps.length === 0) return change;
    if (isOnlyOffThere(change)) return { ...change, action: "failed", note: offThere } as const;
    const changed = new Set(
      steps.flatMap((step) =>
        step.action === "update" || step.action === "delete" ? step.id : [],
      ),
    );
    const places = existing.flatMap(({ id, position }) => (changed.has(id) ? [position] : []));
    const { lost } = await lossesOf(dataset_id, document, context);
    const losses = lost.filter((each) => places.some((at) => each.startsWith(`chunk ${at} `)));
    return withLost({ ...change, action: "chunks" }, losses);
  };
  const check = async (planned: DocumentChange): Promise<DocumentChange> => {
    const stored = await chunksOf(asIs, planned, context);
    const change = stored ? await compared(planned, stored) : planned;
    addTo(survey, change, stored ?? [], rules);
    return change;
  };
  for await (const change of mapConcurrent(changes, context.api.limitConcurrency(), check)) {
    checked.push(change);
    context.progress({ verb: "Comparing chunks", done: checked.length, total, unit: "documents" });
  }
  return { changes: checked, survey };
}

/** Says what a copy as is would embed and leave out. */
export async function surveyCopy(
  dataset_id: string,
  state: KbState,
  context: Context,
): Promise<void> {
  const { documents, settings } = state;
  const { doc_form } = settings;
  const rules = chunkRules(settings, doc_form);
  const survey = newSurvey();
  const read = ({ id: document_id }: { readonly id: string }) =>
    collect(readChunks({ dataset_id, document_id, doc_form }, context));
  for await (const chunks of mapConcurrent(documents, context.api.limitConcurrency(), read)) {
    addTo(survey, { action: "create", source: undefined }, chunks, rules);
    const done = ++survey.documents;
    const [verb, total, unit] = ["Reading chunks", documents.length, "documents"];
    context.progress({ verb, done, total, unit });
  }
  await confirmAsIs(survey, { state, rules }, context);
}

function addTo(
  survey: Survey,
  { action, source }: Pick<DocumentChange, "action" | "source">,
  stored: readonly StoredChunk[],
  { summaries }: ChunkRules,
): void {
  const { left } = survey;
  if (source && (action === "create" || action === "update")) {
    survey.documents++;
    survey.bytes += source.size;
  }
  const isWritten = !["unchanged", "failed", "metadata", "skip"].includes(action);
  for (const chunk of stored) {
    if (chunk.summary !== null && !summaries) left.summaries++;
    left.attachments += chunk.attachments;
    if (!isCarried(chunk)) left[chunk.status === "error" ? "failed" : "empty"]++;
    else if (isWritten) {
      survey.chunks++;
      survey.characters += embeddedCharacters(chunk);
    }
  }
}

const leftWords = [
  ["failed", "chunk whose embedding failed", "chunks whose embedding failed"],
  ["empty", "empty chunk", "empty chunks"],
  ["summaries", "summary without a model", "summaries without a model"],
  ["attachments", "attachment", "attachments"],
] as const satisfies readonly (readonly [keyof Survey["left"], string, string])[];

/**
 * Says what an import as is leaves out and what it embeds, twice where the server splits a text in another way,
 * and prompts. Without a model, nothing is embedded, and it does not prompt.
 */
export async function confirmAsIs(
  { documents, bytes, chunks, characters, left }: Survey,
  given: {
    readonly state: Pick<KbState, "settings"> & {
      /** Without `file` where it is not known yet. */
      readonly documents: readonly { readonly name: string; readonly file?: string | null }[];
    };
    readonly rules: ChunkRules;
  },
  context: Context,
): Promise<void> {
  const { state, rules } = given;
  const lost = leftWords.flatMap(([kind, one, several]) =>
    left[kind] > 0 ? [counted(left[kind], one, several)] : [],
  );
  await context.notice(`not imported: ${[neverCarried, ...lost].join("; ")}`);
  const withoutFile = state.documents.filter(({ file }) => file === null).map(({ name }) => name);
  if (withoutFile.length > 0)
    await context.notice(
      `not imported, as the export has no content for them: ${firstNames(withoutFile)}`,
    );
  if (chunks === 0 || state.settings.indexing_technique !== "high_quality") return;
  const size = bytes > 0 ? ` (${formatBytes(bytes)})` : "";
  const sent = documents > 0 ? `${counted(documents, "document")}${size}, and again ` : "";
  const pairs =
    rules.doc_form === "qa_model"
      ? "; a model first writes questions and answers, which are replaced"
      : "";
  const work = `${sent}up to ${groupDigits(chunks)} chunks (${groupDigits(characters)} characters) that the server splits in another way${pairs}`;
  if (context.options.dryRun) return context.notice(`to embed: ${work}`);
  await context.confirm(`Embed ${work}?`, { declined: "nothing was imported" });
}

/** Returns what gives a document of the target its chunks, and the counts of changed chunks. */
export function chunkGiver(asIs: AsIs, dataset_id: string, context: Context) {
  const total: ChunkCounts = { updated: 0, added: 0, deleted: 0, children: 0 };
  const { rules } = asIs;
  const giveChunks: DocumentTarget["giveChunks"] = async ({ id, change }) => {
    const stored = await chunksOf(asIs, change, context);
    if (!stored) return;
    // Those of the export are disabled and archived again at the end.
    const input = { dataset_id, document_ids: [id] };
    const before = change.action === "chunks" ? change.document : undefined;
    if (before?.archived) await context.api.call(unarchiveDocuments, input);
    if (before?.enabled === false) await context.api.call(enableDocuments, input);
    const target = { dataset_id, document_id: id, ...rules };
    const counts = await makeChunks(target, stored, context);
    for (const key of ["updated", "added", "deleted", "children"] as const)
      total[key] += counts[key];
  };
  return { giver: { giveChunks }, total };
}

/** `chunks: 12 updated, 3 added, 5 child chunks changed`, or that none differed. */
export function chunkSummary(counts: ChunkCounts): string {
  const kinds = ["updated", "added", "deleted", "children"] as const;
  const parts = kinds
    .filter((kind) => counts[kind] > 0)
    .map((kind) => {
      const word = kind === "children" ? "child chunks changed" : kind;
      return `${groupDigits(counts[kind])} ${word}`;
    });
  return `chunks: ${parts.join(", ") || "all as they were"}`;
}
