import { ignoring, notFound, refused, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { firstNames, isIdPrefix, withSlashes } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Change } from "../changes/index.ts";
import { readChunksOf } from "../chunk-lists/index.ts";
import { chunkTexts } from "../documents/index.ts";
import { importBundle } from "../snapshot/index.ts";
import type { BundledDocument, Manifest } from "../snapshot/index.ts";
import type { backupCatParams, restoreParams } from "./command.ts";
import { listLine, snapshotAt, snapshotsOf } from "./snapshots.ts";
import { readManifestOf, readObject, readSnapshots } from "./store.ts";

/** Creates or fills a knowledge base from a snapshot, or puts single documents of it back. */
export async function* restoreSnapshot(
  input: Input<typeof restoreParams>,
  context: Context,
): AsyncGenerator<Change> {
  const { directory, kb, at: _, snapshot: __, only: texts, split_again, ...flags } = input;
  if (texts && flags.name === undefined && flags.into === undefined)
    throw usage(
      "--only needs --into or --name",
      `to put it back: ${commandLine("kb backup restore", [directory, kb], { only: texts, into: kb })}`,
    );
  const lineOf = (id: string, split: true | undefined = split_again || undefined): string =>
    commandLine("kb backup restore", [directory, kb], {
      only: texts,
      name: flags.name,
      into: flags.into,
      "map-model": flags.map_model,
      snapshot: id,
      "split-again": split,
    });
  const taken = await takenBy(input, lineOf, context);
  const { snapshot, manifest: whole } = taken;
  const part = context.host.files.untrustedPart(directory);
  if (part)
    await context.notice(
      `hashes show damage, but not who wrote a backup: ${part.path} ${part.reason}, so others could have replaced it`,
    );
  const chosen: BundledDocument[] = [];
  for (const text of texts ?? []) chosen.push(await documentOf(text, taken, context));
  const names = new Set(chosen.map(({ name }) => name));
  const documents = whole.state.documents.filter(({ name }) => !texts || names.has(name));
  const manifest = { ...whole, state: { ...whole.state, documents } };
  const only = texts && new Set(chosen.map(({ id }) => id));
  const as_is = split_again !== true;
  const otherwise = `to let the server split their texts again: ${lineOf(snapshot.id, true)}`;
  const bundle = { ...flags, as_is, directory, manifest, otherwise, only };
  const made = yield* importBundle(bundle, context);
  const what = texts ? `${firstNames([...names])} of ${snapshot.kb.name}` : snapshot.kb.name;
  if (made) context.summary(`restored ${what} as of ${snapshot.taken_at} to ${made.name}`);
}

/** Prints a document of a snapshot, byte for byte; with `chunks`, or for one without a file, the texts of its chunks. */
export async function* catDocument(
  input: Input<typeof backupCatParams>,
  context: Context,
): AsyncGenerator<Uint8Array | string> {
  const { directory, kb, document, chunks: asChunks = false } = input;
  const { files } = context.host;
  const lineOf = (snapshot: string): string =>
    commandLine("kb backup cat", [directory, kb, document], {
      chunks: asChunks || undefined,
      snapshot,
    });
  const taken = await takenBy(input, lineOf, context);
  const { name, sha256: content, chunks } = await documentOf(document, taken, context);
  if (content !== null && !asChunks) return yield await readObject(directory, content, files);
  if (!chunks?.sha256)
    throw notFound(`snapshot ${taken.snapshot.id} has no chunks of document ${name}`);
  if (!asChunks) await context.notice(`no file of document ${name}: these are its chunks`);
  await readObject(directory, chunks.sha256, files); // it is not damaged
  yield* chunkTexts((await readChunksOf(directory, { chunks }, context)) ?? []);
}

type Wanted = Pick<Input<typeof restoreParams>, "directory" | "kb" | "at" | "snapshot">;

/** The snapshot that a line takes, with its manifest; `lineOf` makes the line that takes another one. */
async function takenBy(input: Wanted, lineOf: (snapshot: string) => string, context: Context) {
  const snapshot = await snapshotAt(input, lineOf, context);
  const manifest = await readManifestOf(input.directory, snapshot, context.host.files);
  return { ...input, snapshot, manifest, lineOf };
}

/** The documents of this name, whatever its kind of slash, or with this ID or beginning of an ID. */
function documentsCalled(text: string, { state: { documents } }: Manifest) {
  const plain = withSlashes(text.replace(/^(name|id):/, ""));
  const isOf = (id: string) => isIdPrefix(plain) && id.startsWith(plain.toLowerCase());
  return documents.filter(({ id, name }) => withSlashes(name) === plain || isOf(id));
}

/**
 * The document of a snapshot that a text names. Throws refused for a name of several, and not-found with the newest
 * other snapshot that has it, or with a similar name.
 */
async function documentOf(
  text: string,
  { directory, kb, snapshot, manifest, lineOf }: Awaited<ReturnType<typeof takenBy>>,
  { host }: Context,
): Promise<BundledDocument> {
  const [found, ...others] = documentsCalled(text, manifest);
  if (found && others.length === 0) return found;
  const [quoted, of] = [JSON.stringify(text), `snapshot ${snapshot.id} of ${snapshot.taken_at}`];
  if (found)
    throw refused(
      `${of} has ${others.length + 1} documents called ${quoted}`,
      `use an ID: ${[found, ...others].map(({ id }) => id).join(" or ")}`,
    );
  const missing = `${of} has no document ${quoted}`;
  const { snapshots } = snapshotsOf(kb, await readSnapshots(directory, host), directory);
  for (const other of snapshots.toReversed()) {
    const read = readManifestOf(directory, other, host.files);
    const older = await read.catch(ignoring("usage")); // damaged
    if (older && documentsCalled(text, older).length > 0)
      throw notFound(missing, `that of ${other.taken_at} has it: ${lineOf(other.id)}`);
  }
  const names = manifest.state.documents.map(({ name }) => name);
  const near = didYouMean(text, names);
  const list = `other snapshots: ${listLine(directory, kb)}`;
  throw notFound(missing, near === undefined ? list : `did you mean ${JSON.stringify(near)}?`);
}
