import { requireField } from "../../../api/response-fields.ts";
import { CliError } from "../../../errors.ts";
import type { Context } from "../../command-spec.ts";

/** ms between two looks (server §9.6). */
const longest = 2000;
const first = 300;
/** ms without any movement until that is said, and until waiting ends: a dead worker never moves. */
const still = 300_000;
const dead = 1_800_000;

/** How one document stands. */
export interface DocumentProgress {
  readonly id: string;
  readonly name: string;
  readonly indexing_status: string;
  /** Why it is not indexed, or why nothing of it can be found. */
  readonly error: string | null;
  /** Chunks that are done and all of them, where the server tells. */
  readonly chunks?: readonly [done: number, total: number] | undefined;
}

/** Is it done, and can it be found? */
export const isIndexed = ({ indexing_status, error }: DocumentProgress): boolean =>
  indexing_status === "completed" && error === null;

/** Why a document that is called completed cannot be found (server §9.8). */
const nothingInIt = "it was completed without a single chunk, so no search finds it";

/**
 * How a document stands, as a list or a detail shows it. One that has a text and no chunk is
 * `completed` for the server; here that is an error.
 */
export function standingOf(document: ShownDocument): DocumentProgress {
  const { id } = document;
  const name = requireField(document.name, "name");
  const indexing_status = requireField(document.indexing_status, "indexing_status");
  const amount = document.segment_count ?? document.word_count;
  const file =
    document.data_source_detail_dict?.upload_file ?? document.data_source_info?.upload_file;
  const standing = { id, name, indexing_status };
  if (indexing_status !== "completed") return { ...standing, error: document.error ?? null };
  return { ...standing, error: amount === 0 && (file?.size ?? 0) > 0 ? nothingInIt : null };
}

/** What lists and details have in common, and how each tells what is in a document. */
interface ShownDocument {
  readonly id: string;
  readonly name?: string;
  readonly indexing_status?: string;
  readonly error?: string | null;
  readonly segment_count?: number | null;
  readonly word_count?: number | null;
  readonly data_source_detail_dict?: { readonly upload_file?: StoredSize | null } | null;
  readonly data_source_info?: {
    readonly upload_file?: StoredSize | null;
    readonly upload_file_id?: string;
  } | null;
}

interface StoredSize {
  readonly size?: number;
}

/** Does nothing more happen to it? */
export const isDone = ({ indexing_status }: Pick<DocumentProgress, "indexing_status">): boolean =>
  indexing_status === "completed" || indexing_status === "error" || indexing_status === "paused";

/**
 * Yields each document when it has been indexed or has failed to, asking `look` how all stand. Says
 * so when nothing moves for five minutes; throws deadline when nothing moves for thirty.
 */
export async function* waitForIndexing(
  look: () => Promise<readonly DocumentProgress[]>,
  context: Context,
): AsyncGenerator<DocumentProgress> {
  const { host } = context;
  const info = new Set<string>();
  let state = "";
  let movedAt = host.elapsed();
  let said = false;
  for (let wait = first; ; wait = Math.min(longest, wait * 2)) {
    const standings = await look();
    const now = host.elapsed();
    for (const standing of standings.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (!isDone(standing) || info.has(standing.id)) continue;
      info.add(standing.id);
      yield standing;
    }
    const open = standings.filter((standing) => !isDone(standing));
    if (open.length === 0) return;
    const present = JSON.stringify(open.map((each) => [each.indexing_status, each.chunks]));
    if (present !== state) [state, movedAt, said] = [present, now, false];
    const note = chunkWords(open);
    context.progress({ done: info.size, total: standings.length, unit: "documents", note });
    if (now - movedAt >= still && !said) {
      said = true;
      await context.notice(`no movement for 5 min: ${stuckWords(open)}`);
    }
    if (now - movedAt >= dead) {
      throw new CliError("deadline", `no movement for 30 min: ${stuckWords(open)}`, {
        isResult: true,
        details: { open: open.map(({ id, name }) => ({ id, name })) },
        hint: "the server's worker may be down; adding a document again under its name starts it again",
      });
    }
    await host.sleep(wait, context.signal).catch(() => {
      throw context.abortError();
    });
  }
}

function chunkWords(open: readonly DocumentProgress[]): string | undefined {
  const known = open.flatMap(({ chunks }) => (chunks && chunks[1] > 0 ? [chunks] : []));
  if (known.length === 0) return undefined;
  const sum = (at: 0 | 1) => known.reduce((all, chunks) => all + chunks[at], 0);
  return `${sum(0)} of ${sum(1)} chunks of those under way`;
}

const stuckWords = (open: readonly DocumentProgress[]): string =>
  `${open.length} documents, ${open[0]?.name} is ${open[0]?.indexing_status}`;
