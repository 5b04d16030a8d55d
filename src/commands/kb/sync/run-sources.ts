import { join, dirname, resolve } from "node:path";
import { CliError, usage, verdict } from "../../../errors.ts";
import { openJournal } from "../../../lib/journal.ts";
import { firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { change } from "../changes/index.ts";
import type { syncHistoryParams, syncRunParams } from "./command.ts";
import { syncDirectory } from "./sync.ts";
import type { SyncInput, SyncRow } from "./sync.ts";
import { syncRows } from "./sync-rows.ts";
import { problemIn } from "../../../api/response.ts";
import { runKeyCommand } from "../../../config/stored-keys.ts";
import { requireNear } from "../../../host/safe-path.ts";
import { shellQuote } from "../../../lib/command-line.ts";
import { encodingName } from "../../../lib/formats/encoding.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import { isObject } from "../../../lib/json.ts";
import { readInput, removeUnfinished, requireTrusted } from "../../task/files.ts";
import { isAddress } from "../documents/index.ts";
import type { SourceOptions } from "../sources/index.ts";

/** An earlier sync of a source, as it is stored. */
interface PastSync {
  readonly at: string;
  readonly source: string;
  readonly kb: string;
  readonly result: "ok" | "failed";
  readonly seconds: number;
  /** Its summary, or why it failed. */
  readonly note: string;
}

const historyPath = ({ host }: Context): string =>
  join(host.directories.state, "sync-history.jsonl");
/** Syncs that are kept. */
const MAX_HISTORY = 1000;

/**
 * Syncs the sources of a file, or those that are named, one after the other; a sync that fails as a whole is a row, too.
 * Throws partial if one failed.
 */
export async function* run(
  {
    config = "sources.yaml",
    name: names = [],
    allow_run = false,
    ...flags
  }: Input<typeof syncRunParams>,
  context: Context,
): AsyncGenerator<SyncRow & { readonly source: string }> {
  const all = await readSourcesFile(config, context);
  const unknown = names.filter((name) => !all.has(name));
  if (unknown.length > 0)
    throw usage(
      `${config} has no source ${unknown.join(", ")}`,
      `it has ${firstNames([...all.keys()], 20)}`,
    );
  const chosen = [...all].filter(([name]) => names.length === 0 || names.includes(name));
  // Before anything is changed.
  const opened = new Map<string, Awaited<ReturnType<typeof openedEntry>>>();
  for (const entry of chosen)
    opened.set(entry[0], await openedEntry(config, entry, allow_run, context));
  const past: PastSync[] = [];
  const summaries: string[] = [];
  for (const [name, entry] of chosen) {
    const { address, options } = opened.get(name) ?? { address: "", options: {} };
    const input = { ...flags, ...flagsOf(entry), directory: address };
    const notes: string[] = [];
    const own = { ...context, summary: (text: string) => void notes.push(text) };
    const start = context.host.elapsed();
    let failure: CliError | undefined;
    try {
      const dataset_id = await context.resolveId("kb", entry.kb);
      const sync = entry.rows ? syncRows : syncDirectory;
      for await (const row of sync({ ...input, dataset_id, options }, own))
        yield { path: row.name, document_id: null, ...row, source: name };
    } catch (error) {
      if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
      failure = error;
      if (!error.info.isResult) yield { ...failedRow(entry.kb, error.message), source: name };
    }
    const note = [...notes, ...(failure ? [failure.message] : [])].join("; ");
    summaries.push(`${name}: ${note}`);
    const seconds = Math.round((context.host.elapsed() - start) / 100) / 10;
    const result = failure ? "failed" : "ok";
    const at = context.host.now().toISOString();
    past.push({ at, source: name, kb: entry.kb, result, seconds, note });
  }
  context.summary(summaries.join("\n"));
  if (!context.options.dryRun) await remember(past, context);
  const failed = past.filter(({ result }) => result === "failed");
  if (failed.length === 0) return;
  const which = firstNames(failed.map(({ source }) => source));
  throw verdict(
    "partial",
    `failed to sync ${failed.length} of ${chosen.length} sources: ${which}`,
    { failed },
    "the other sources are synced; run the same command again to resume",
  );
}

const flagsOf = ({ max_delete, metadata, ...entry }: SourceEntryOfFile) => ({
  ...entry,
  metadata: metadata && Object.entries(metadata).map(([field, value]) => `${field}=${value}`),
  ...(max_delete !== undefined && { max_delete: String(max_delete) }),
});

const failedRow = (kb: string, note: string): SyncRow => ({
  ...change({ action: "failed", what: "knowledge base", name: kb, note }),
  path: kb,
  document_id: null,
});

/** Adds syncs to the history; a sync does not fail because of it. */
async function remember(past: readonly PastSync[], context: Context): Promise<void> {
  const { files, directories } = context.host;
  const path = historyPath(context);
  try {
    await files.makeDirectory(directories.state, 0o700);
    const journal = await openJournal(path, files);
    await journal.append(past);
    const all = [...journal.entries, ...past];
    if (all.length < 2 * MAX_HISTORY) return;
    await removeUnfinished(directories.state, files, (each) => !each.startsWith(`${path}.`));
    const kept = all.slice(-MAX_HISTORY);
    await files.writeAtomic(path, kept.map((each) => `${JSON.stringify(each)}\n`).join(""), 0o600);
  } catch (error) {
    if (error instanceof CliError) throw error;
    await context.notice("the history of syncs was not written");
  }
}

/** `kb sync history`: yields earlier syncs of files of sources, the latest first. */
export const history = {
  async *run({ name, source }: Input<typeof syncHistoryParams>, context: Context) {
    const { entries } = await openJournal(historyPath(context), context.host.files);
    for (const each of entries.slice(-MAX_HISTORY).toReversed()) {
      const isNamed = name === undefined || each["source"] === name || each["kb"] === name;
      if (isNamed && (source === undefined || each["source"] === source))
        yield each as unknown as PastSync;
    }
  },
};

/** Where a secret is: in a variable of the environment, or in the output of a command. */
type Credential = { readonly variable: string } | { readonly command: string };

/** A sync that a file of sources describes, with the flags of `kb sync`. */
interface SourceEntryOfFile extends Omit<
  SyncInput,
  "dataset_id" | "directory" | "max_delete" | "metadata"
> {
  readonly kb: string;
  readonly source: string;
  readonly max_delete?: string | number;
  readonly metadata?: Readonly<Record<string, string | number>>;
  readonly authorization?: Credential;
  readonly env?: Readonly<Record<string, Credential>>;
}

const entryFields = {
  kb: "name",
  source: "name",
  "rows?": "flag",
  "map?": ["text"],
  "id_column?": "text",
  "prefix?": "text",
  "include?": ["text"],
  "exclude?": ["text"],
  "prune?": "flag",
  "adopt?": "flag",
  "max_delete?": "scalar",
  "max_size?": "text",
  "encoding?": "text",
  "metadata?": { "*": "scalar" },
  "metadata_from?": "=front-matter",
  "allow_private?": "flag",
  "authorization?": {},
  "env?": {},
} as const;
const known = Object.keys(entryFields).map((name) => name.replace("?", ""));

/** Reads a file of sources: its entries by name. Throws usage with what is wrong. */
async function readSourcesFile(
  path: string,
  { host }: Context,
): Promise<ReadonlyMap<string, SourceEntryOfFile>> {
  const yaml = await parseYaml(new TextDecoder().decode(await readInput(path, host)));
  if ("problem" in yaml) throw usage(`${path} line ${yaml.line}: ${yaml.problem}`);
  const sources = isObject(yaml.value) ? yaml.value["sources"] : undefined;
  const others = isObject(yaml.value) ? Object.keys(yaml.value) : [];
  const wrong = (message: string) => usage(`${path}: ${message}`, "docs/sources.md has an example");
  if (!isObject(sources) || others.length > 1)
    throw wrong("expected a mapping `sources` with a name for each source");
  const places = new Map<string, string>();
  for (const [name, entry] of Object.entries(sources)) {
    const problem = entryProblem(entry);
    if (problem !== undefined) throw wrong(`${name}: ${problem}`);
    const { kb, source, rows, map, id_column, prefix = "" } = entry as SourceEntryOfFile;
    if (!rows && (map || id_column)) throw wrong(`${name}: map and id_column need rows: true`);
    if (isAddress(source) || rows) continue;
    const place = `${kb}\n${prefix}`;
    const other = places.get(place);
    if (other !== undefined)
      throw wrong(`${other} and ${name} are directories with the same prefix`);
    places.set(place, name);
  }
  return new Map(Object.entries(sources as Record<string, SourceEntryOfFile>));
}

function entryProblem(entry: unknown): string | undefined {
  if (!isObject(entry)) return "expected a mapping";
  const unknown = Object.keys(entry).find((name) => !known.includes(name));
  if (unknown !== undefined)
    return `unknown key ${JSON.stringify(unknown)}; keys: ${known.join(", ")}`;
  const { authorization, env = {} } = entry;
  const credentials = [
    ...(isObject(env) ? Object.values(env) : [env]),
    authorization ?? { variable: "" },
  ];
  const isCredential = (value: unknown) =>
    isObject(value) &&
    Object.keys(value).length === 1 &&
    [value["variable"], value["command"]].some((each) => typeof each === "string");
  if (!credentials.every(isCredential))
    return "a secret is {variable: NAME} or {command: PROGRAM}, never a value in the file";
  return problemIn(entryFields, entry, "");
}

/**
 * The address of an entry and what it needs. Throws usage unless `allowRun` is given for an entry that names a
 * program, or if others could have changed the file, for a variable that is not set, and for a directory
 * elsewhere without --allow-files.
 */
async function openedEntry(
  path: string,
  [name, entry]: readonly [string, SourceEntryOfFile],
  allowRun: boolean,
  context: Context,
): Promise<{ readonly address: string; readonly options: SourceOptions }> {
  const { host, options } = context;
  const { source, authorization, env = {}, allow_private, encoding } = entry;
  if (encoding !== undefined) await encodingName(encoding);
  const cwd = dirname(resolve(host.cwd, path));
  const commands = [...Object.values(env), ...(authorization ? [authorization] : [])].flatMap(
    (each) => ("command" in each ? [each.command] : []),
  );
  const programs = [...commands, ...(source.startsWith("exec:") ? [source.slice(5)] : [])];
  const [first] = programs;
  if (first !== undefined && !allowRun)
    throw usage(
      `${path}: ${name} runs the program ${shellQuote(first)}, which needs --allow-run`,
      "read the file and the program, then add --allow-run",
    );
  if (first !== undefined) requireTrusted(path, `the programs of ${name}`, host);
  const secret = async (credential: Credential): Promise<string> => {
    if ("command" in credential) return runKeyCommand(credential.command, `${path}: ${name}`, host);
    const value = host.env[credential.variable];
    if (!value) throw usage(`${path}: ${name}: the variable ${credential.variable} is not set`);
    host.secrets.learn(value);
    return value;
  };
  const secrets: Record<string, string> = {};
  for (const [variable, credential] of Object.entries(env))
    secrets[variable] = await secret(credential);
  const given: SourceOptions = {
    cwd,
    env: secrets,
    isPrivate: allow_private,
    ...(authorization && { authorization: await secret(authorization) }),
  };
  if (isAddress(source)) return { address: source, options: given };
  const address = resolve(cwd, source);
  await requireNear(address, { file: path, allowed: options.flags.allowFiles }, host);
  return { address, options: given };
}
