import { CliError, notFound, refused, usage } from "../../../errors.ts";
import { spanOf } from "../../../lib/times.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Input } from "../../../operations/operation.ts";
import { counted, isUuid, joinedNotes } from "../../../lib/text.ts";
import { groupBy } from "../../../lib/collect.ts";
import type { Context } from "../../task/command-spec.ts";
import { bundleSide, differenceNote, differencesOf } from "../snapshot/index.ts";
import type { KbDifference } from "../snapshot/index.ts";
import { readSnapshots, readManifestOf, orderOf, secondOf } from "./store.ts";
import type { BadSnapshot, Snapshot, StoredSnapshots } from "./store.ts";
import type { snapshotListParams, snapshotDiffParams, restoreParams } from "./command.ts";

type RestoreInput = Input<typeof restoreParams>;

/** All snapshots of a backup, in order. Throws usage if one cannot be read: then nothing may be removed. */
export async function allSnapshots(
  directory: string,
  context: Context,
): Promise<readonly Snapshot[]> {
  const { snapshots, bad } = await readSnapshots(directory, context.host);
  const [unread] = bad;
  if (!unread) return snapshots;
  throw usage(
    `${unread.path}: ${unread.why}; which files it needs is not known, so nothing was removed`,
    orGetIt,
  );
}

/** What to do about what cannot be read. */
const orGetIt = "get it from a copy of the directory, or delete it";

/** The line that lists snapshots. */
export const listLine = (directory: string, kb?: string): string =>
  commandLine("kb backup list", [directory], { kb });

/** The snapshots of a knowledge base, by ID or any name it had. Throws not-found, and refused for a name of several. */
export function snapshotsOf(text: string, { snapshots, bad }: StoredSnapshots, directory: string) {
  const name = text.replace(/^(name|id):/, "");
  const called = snapshots.filter(({ kb }) => kb.id === name || kb.name === name);
  const ids = new Set(called.map(({ kb }) => kb.id));
  const found = snapshots.filter(({ kb }) => ids.has(kb.id));
  const named = new Set(snapshots.map(({ kb }) => kb.id));
  const isOfIt = ({ kb_id: id }: BadSnapshot) =>
    id === undefined || id === name || ids.has(id) || (!isUuid(name) && !named.has(id));
  const unread = bad.filter(isOfIt);
  if (found.length + unread.length === 0)
    throw notFound(`no snapshot of ${JSON.stringify(name)} in ${directory}`, listLine(directory));
  if (ids.size <= 1) return { snapshots: found, bad: unread };
  throw refused(
    `${ids.size} knowledge bases in ${directory} were called ${JSON.stringify(name)}`,
    `use an ID: ${[...ids].join(" or ")}`,
  );
}

/** The snapshot with an ID or its beginning. Throws not-found, refused for several, and usage for an unreadable one. */
export function snapshotById(
  text: string,
  { snapshots, bad }: StoredSnapshots,
  directory: string,
): Snapshot {
  const begins = ({ id = "" }: { readonly id?: string | undefined }) => id.startsWith(text);
  const found = /^[0-9a-f]{2,8}$/.test(text) ? snapshots.filter(begins) : [];
  const [only, ...others] = found;
  const unread = bad.find(begins);
  if (!only && unread) throw usage(`${unread.path}: ${unread.why}`, orGetIt);
  if (!only)
    throw notFound(
      `snapshot ${JSON.stringify(text)} not found in ${directory}`,
      listLine(directory),
    );
  if (others.length === 0) return only;
  throw refused(`${found.length} snapshots begin with ${text}`, listLine(directory));
}

/** Clocks of machines that share a directory may differ by this many ms. */
const MAX_SKEW_MS = 60_000;

/** Is the time of a snapshot later than now, so that some clock is wrong? */
export const isLater = ({ taken_at }: Pick<Snapshot, "taken_at">, now: Date): boolean =>
  Date.parse(taken_at) > now.getTime() + MAX_SKEW_MS;

/** What a restore takes; those after a command only serve to undo it. */
export const isComplete = ({ partial, note = "" }: Pick<Snapshot, "partial" | "note">): boolean =>
  partial === undefined && !note.startsWith("after ");

/** What a restore can take of the snapshots of a knowledge base. */
type Choice =
  /** The newest complete one; `last` is the newest of all, which it passes over if that is another. */
  | {
      readonly kind: "certain" | "later than now";
      readonly chosen: Snapshot;
      readonly last: Snapshot;
    }
  /** What cannot be read may be newer than the chosen one. */
  | { readonly kind: "unread"; readonly unread: BadSnapshot; readonly chosen: Snapshot | undefined }
  | { readonly kind: "none complete"; readonly last: Snapshot }
  | { readonly kind: "none so old" };

/**
 * Chooses the newest complete snapshot of a knowledge base, up to a time in ms, and says whether that is certain; pure.
 * Without a time, those after a command only serve to undo it.
 */
export function chooseSnapshot(
  { snapshots, bad }: StoredSnapshots,
  until: number | undefined,
  now: Date,
): Choice {
  const upTo = snapshots.filter(({ taken_at }) => Date.parse(taken_at) <= (until ?? Infinity));
  const isWanted = (each: Snapshot) =>
    until === undefined ? isComplete(each) : each.partial === undefined;
  const [chosen, last] = [upTo.findLast(isWanted), upTo.at(-1)];
  const from = chosen ? secondOf(orderOf(chosen)) : "";
  const to = until === undefined ? "9" : secondOf(new Date(until).toISOString());
  // A name shows the order: after a clock ahead, that is later than the time.
  const isLate = (second: string) => second > secondOf(now.toISOString());
  const wasAhead = snapshots.some((each) => each.order !== undefined || isLater(each, now));
  const unread = bad.find(
    ({ second = to }) => from <= second && (second <= to || wasAhead || isLate(second)),
  );
  if (unread) return { kind: "unread", unread, chosen };
  if (!last) return { kind: "none so old" };
  if (!chosen) return { kind: "none complete", last };
  return { kind: isLater(chosen, now) ? "later than now" : "certain", chosen, last };
}

/**
 * The snapshot to restore: that of an ID, or the newest complete one of a knowledge base, up to a time. Servers that
 * were made from one database have the same IDs: then it is one of the server of this line. Says which one it is, and
 * throws usage where that is not certain; `lineOf` makes the line that takes a certain one.
 */
export async function snapshotAt(
  { directory, kb, at, snapshot }: Pick<RestoreInput, "directory" | "kb" | "at" | "snapshot">,
  lineOf: (snapshot: string) => string,
  context: Context,
): Promise<Snapshot> {
  if (at !== undefined && snapshot !== undefined)
    throw usage("use either --at or --snapshot, not both");
  const stored = snapshotsOf(kb, await readSnapshots(directory, context.host), directory);
  if (snapshot !== undefined) return snapshotById(snapshot, stored, directory);
  const servers = groupBy(stored.snapshots, ({ kb: { base_url } }) => base_url);
  const own = servers.size > 1 ? servers.get(await context.api.baseUrl()) : stored.snapshots;
  if (!own)
    throw refused(
      `${servers.size} servers have the knowledge base ${JSON.stringify(kb)}`,
      `choose a snapshot with --snapshot: ${listLine(directory, kb)}`,
    );
  const until = at === undefined ? undefined : (spanOf(at)?.first ?? 0) * 1000 + 999;
  const choice = chooseSnapshot({ ...stored, snapshots: own }, until, context.host.now());
  if (choice.kind === "unread")
    throw usage(
      `${choice.unread.path}: ${choice.unread.why}; it may be the snapshot to take`,
      choice.chosen ? `to take the newest that can be read: ${lineOf(choice.chosen.id)}` : orGetIt,
    );
  if (choice.kind === "none so old")
    throw notFound(
      `no snapshot of ${JSON.stringify(kb)} is that old: the first is of ${own[0]?.taken_at}`,
      listLine(directory, kb),
    );
  const { last } = choice;
  if (choice.kind === "none complete")
    throw usage(
      `no snapshot of ${JSON.stringify(kb)} is complete; the last one, ${last.id} of ${last.taken_at}: ${lackOf(last)}`,
      `to take it as it is: ${lineOf(last.id)}`,
    );
  const { chosen } = choice;
  if (choice.kind === "later than now")
    throw usage(
      `snapshot ${chosen.id} is of ${chosen.taken_at}, later than now, so it may not be the newest`,
      `to take it: ${lineOf(chosen.id)}; others: ${listLine(directory, kb)}`,
    );
  const taken = `taking snapshot ${chosen.id} of ${chosen.taken_at} with ${counted(chosen.documents, "document")}`;
  if (chosen === last) await context.notice(taken);
  // An older state is never taken in silence.
  else await context.promptLine(`${taken}, not the newer ${last.id}: ${lackOf(last)}`);
  return chosen;
}

const lackOf = ({ partial, note = "" }: Snapshot): string => partial ?? `taken ${note}`;

/** The row of a snapshot; times in Unix seconds. */
export const snapshotRow = ({ id, kb, taken_at, documents, bytes, note, partial }: Snapshot) => ({
  snapshot: id,
  kb: kb.name,
  taken: Math.floor(Date.parse(taken_at) / 1000),
  documents,
  bytes,
  note: joinedNotes(note, partial),
  kb_id: kb.id,
  server: kb.base_url,
});

/** Lists snapshots, newest first, after what cannot be read as one. Throws partial if there is such. */
export async function* listSnapshots(
  { directory, kb }: Input<typeof snapshotListParams>,
  context: Context,
): AsyncGenerator<object> {
  const all = await readSnapshots(directory, context.host);
  const { snapshots, bad } = kb === undefined ? all : snapshotsOf(kb, all, directory);
  const unread = { kb: null, taken: null, documents: null, bytes: null, server: null };
  for (const { path, why, id = null, kb_id = null } of bad)
    yield { snapshot: id, ...unread, note: `${path}: ${why}`, kb_id, status: "unreadable" };
  for (const snapshot of snapshots.toReversed()) {
    const lack = snapshot.partial === undefined ? "complete" : "partial";
    const status = isLater(snapshot, context.host.now()) ? "later than now" : lack;
    yield { ...snapshotRow(snapshot), status };
  }
  if (bad.length > 0)
    throw new CliError("partial", `not readable as a snapshot: ${counted(bad.length, "file")}`, {
      isResult: true,
      hint: orGetIt,
    });
}

/** The snapshots to compare: of the knowledge base of the last complete one, that and the one before, unless others are given. */
async function snapshotsToCompare(
  { directory, kb, a, b }: Input<typeof snapshotDiffParams>,
  context: Context,
): Promise<{ readonly from: Snapshot; readonly to: Snapshot }> {
  const all = await readSnapshots(directory, context.host);
  const given = a === undefined ? undefined : snapshotById(a, all, directory);
  if (given && b !== undefined) return { from: given, to: snapshotById(b, all, directory) };
  const { snapshots, bad } = kb === undefined ? all : snapshotsOf(kb, all, directory);
  for (const { path, why } of bad) await context.notice(`skipped ${path}: ${why}`);
  const complete = snapshots.filter(({ partial }) => partial === undefined);
  const { id, base_url, name = directory } = (given ?? complete.at(-1))?.kb ?? {};
  const own = complete.filter((each) => each.kb.id === id && each.kb.base_url === base_url);
  const [from, to] = [given ?? own.at(-2), own.at(-1)];
  if (!from || !to || from.id === to.id)
    throw notFound(
      `fewer than two complete snapshots of ${name} to compare`,
      `${commandLine("kb backup", [directory, name])} takes another one; --kb selects a knowledge base: ${listLine(directory)}`,
    );
  await context.notice(`comparing snapshots ${from.id} and ${to.id} of ${name}`);
  return { from, to };
}

/** Lists what differs between two snapshots, also of different knowledge bases. */
export async function* diffSnapshots(
  input: Input<typeof snapshotDiffParams>,
  context: Context,
): AsyncGenerator<KbDifference & { readonly note: string }> {
  const { directory } = input;
  const { from, to } = await snapshotsToCompare(input, context);
  const { files } = context.host;
  const side = async (snapshot: Snapshot) =>
    bundleSide(directory, await readManifestOf(directory, snapshot, files), context);
  const [left, right] = [await side(from), await side(to)];
  const chunks = [left, right].every((each) => each.documents.every(hasChunks));
  let count = 0;
  for await (const difference of differencesOf(left, right, { chunks }, context)) {
    count++;
    yield { ...difference, note: differenceNote(difference, { a: from.id, b: to.id }) };
  }
  const scope = chunks ? "" : "; chunks not compared, as not all documents have them";
  context.summary(
    `${counted(count, "difference")} from ${from.taken_at} to ${to.taken_at}${scope}`,
  );
}

const hasChunks = (document: object): boolean => "chunks" in document;
