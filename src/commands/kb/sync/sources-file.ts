import { dirname, resolve } from "node:path";
import { problemIn } from "../../../api/response.ts";
import { usage } from "../../../errors.ts";
import { runKeyCommand } from "../../../config/stored-keys.ts";
import { requireNear } from "../../../host/safe-path.ts";
import { shellQuote } from "../../../lib/command-line.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import { isObject } from "../../../lib/json.ts";
import { readInput, requireTrusted } from "../../task/files.ts";
import type { Context } from "../../task/command-spec.ts";
import { isAddress } from "../documents/index.ts";
import type { SourceOptions } from "../sources/index.ts";

/** Where a secret is: in a variable of the environment, or in the output of a command. */
type Credential = { readonly variable: string } | { readonly command: string };

/** A sync that a file of sources describes, with the flags of `kb sync`. */
export interface SourceEntryOfFile {
  readonly kb: string;
  readonly source: string;
  readonly prefix?: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly prune?: boolean;
  readonly adopt?: boolean;
  readonly max_delete?: string | number;
  readonly max_size?: string;
  readonly metadata?: Readonly<Record<string, string | number>>;
  readonly metadata_from?: "front-matter";
  readonly allow_private?: boolean;
  readonly authorization?: Credential;
  readonly env?: Readonly<Record<string, Credential>>;
}

const entryFields = {
  kb: "name",
  source: "name",
  "prefix?": "text",
  "include?": ["text"],
  "exclude?": ["text"],
  "prune?": "flag",
  "adopt?": "flag",
  "max_delete?": "scalar",
  "max_size?": "text",
  "metadata?": { "*": "scalar" },
  "metadata_from?": "=front-matter",
  "allow_private?": "flag",
  "authorization?": {},
  "env?": {},
} as const;
const known = Object.keys(entryFields).map((name) => name.replace("?", ""));

/** Reads a file of sources: its entries by name. Throws usage with what is wrong. */
export async function readSourcesFile(
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
    const { kb, source, prefix = "" } = entry as SourceEntryOfFile;
    if (isAddress(source)) continue;
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
export async function openedEntry(
  path: string,
  [name, entry]: readonly [string, SourceEntryOfFile],
  allowRun: boolean,
  context: Context,
): Promise<{ readonly address: string; readonly options: SourceOptions }> {
  const { host, options } = context;
  const { source, authorization, env = {}, allow_private } = entry;
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
