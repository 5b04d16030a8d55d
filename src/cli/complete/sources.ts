import { readProfiles, sandboxProfile } from "../../config/profiles.ts";
import type { Host } from "../../host/host.ts";
import { own } from "../../lib/json.ts";
import { NEWEST, nameWord } from "../../lib/text.ts";
import { listDocuments } from "../../operations/documents.ts";
import type { ListedNoun, Noun, Param } from "../../operations/operation.ts";
import { formats } from "../../output/style.ts";
import { columnNames } from "../../output/table/table.ts";
import { placeholder } from "../parse/command.ts";
import { rulesOf } from "../parse/command-list.ts";
import type { Command } from "../parse/command.ts";
import { matchedDocuments } from "../parse/shared-flags.ts";
import type { OwnFlag, SharedFlag } from "../parse/shared-flags.ts";
import {
  appNames,
  fetchInputs,
  fetchNames,
  formTokens,
  modelNames,
  runIds,
} from "./remote-names.ts";
import type { Candidate, TypedWords } from "./remote-names.ts";
import { listings } from "../../resolve/listings.ts";

/** Source of the candidates for a place: words, a lookup, or the files of the shell. */
export type CandidateSource = readonly string[] | "files" | CandidateLookup;
export type CandidateLookup = (at: Cursor) => Promise<readonly Candidate[]> | readonly Candidate[];

/** Where candidates are looked up. */
export interface Cursor {
  /** The words before the cursor; a command is missing while its words are typed. */
  readonly line: Omit<TypedWords, "command"> & { readonly command: Command | undefined };
  /** The word at the cursor, without the part that stays. */
  readonly typed: string;
  readonly commands: readonly Command[];
  readonly host: Host;
}

/** A lookup for the command on the line. */
type CommandLookup = (
  line: TypedWords,
  at: Pick<Cursor, "typed" | "host">,
) => Promise<readonly Candidate[]> | readonly Candidate[];

const ofCommand =
  (lookup: CommandLookup): CandidateLookup =>
  ({ line, typed, host }) => {
    const { command } = line;
    return command ? lookup({ ...line, command }, { typed, host }) : [];
  };

/** Source of the value of a command's own flag; undefined for a flag without one. */
export function ownSource(
  command: Command | undefined,
  flag: OwnFlag,
): CandidateSource | undefined {
  if (flag.value === undefined || !command) return undefined;
  return flag.role === "file" ? "files" : valueSource(command, flag.name, flag.param);
}

/** Source of the value of a shared flag; undefined for a flag without one. */
export function sharedSource({ long, value }: SharedFlag): CandidateSource | undefined {
  if (value === undefined) return undefined;
  return own(sharedValues, long) ?? (pathWords.test(value) ? "files" : []);
}

/** Sources of a positional by its index; none if the command takes fewer. */
export function argumentSources(command: Command, index: number): readonly CandidateSource[] {
  const last = command.positionals.at(-1);
  const positional = command.positionals[index] ?? (last?.variadic ? last : undefined);
  const param = positional && command.params[positional.name];
  if (!positional || !param) return [];
  const source = valueSource(command, positional.name, param);
  return source === recordings ? [source, "files"] : [source];
}

function valueSource(command: Command, name: string, param: Param): CandidateSource {
  const known = own(paramValues, [...command.words.slice(1), name].join(" "));
  if (known) return known;
  if (param.choices) return param.choices;
  if (param.names) return conditions(param.names);
  if (param.listed === "run") return runs;
  const noun = param.noun ?? param.listed;
  if (noun) return references(noun);
  const word = placeholder(param);
  const source = own(wordValues, word);
  if (source) return source;
  if (param.kind === "file" || param.kind === "content") return "files";
  return param.in === "local" && (pathWords.test(name) || pathWords.test(word)) ? "files" : [];
}

/** Candidates without a description. */
export const withoutHelp = (words: readonly string[]): Candidate[] =>
  words.map((value) => ({ value, help: "" }));

async function profileNames({ host }: Cursor): Promise<Candidate[]> {
  const { profiles } = await readProfiles(host);
  return [
    ...Object.entries(profiles).map(([value, { base_url = "" }]) => ({ value, help: base_url })),
    { value: sandboxProfile, help: "the running local sandbox" },
  ];
}

/** What a command chooses from that is not on the line yet, after `last` where the command takes it. */
const chosen = (list: typeof runIds) =>
  ofCommand(async (line, { host }) => {
    const { command, positionals } = line;
    const { params = [] } = rulesOf(command)?.chosen ?? {};
    const newest =
      positionals.length < params.length ? [{ value: NEWEST, help: "the newest" }] : [];
    const known = await list(line, host).catch(() => []);
    return [...newest, ...known.filter(({ value }) => !positionals.includes(value))];
  });

/** Runs of the application. */
const runs = chosen(runIds);

/** Forms of the application that wait. */
const forms = chosen(formTokens);

/** Runs, where the files of the shell are recordings. */
const recordings = chosen(runIds);

/** Names or IDs from the server, without those that are already on the line. */
const references = (noun: Noun | ListedNoun) =>
  ofCommand(async (line, { typed, host }) => {
    const start = typed.startsWith("name:") ? typed.slice("name:".length) : typed;
    const { newest } = listings[noun];
    const last = newest ? [{ value: NEWEST, help: "the newest" }] : [];
    const found = await fetchNames(noun, line, start, host).catch(() => []);
    const written = (value: string) => {
      if (!listings[noun].byName) return value;
      return start === typed ? nameWord(value) : `name:${value}`;
    };
    return [...last, ...found.map(({ value, help }) => ({ value: written(value), help }))].filter(
      ({ value }) => !line.positionals.includes(value),
    );
  });

/** Active models of a type. */
const models = (type: Parameters<typeof modelNames>[0]) =>
  ofCommand(async (line, { host }) => withoutHelp(await modelNames(type, line, host)));

/** Metadata fields of the knowledge base on the line, with what follows their names. */
const fields = (suffix = "") =>
  ofCommand(async (line, { host }) =>
    (await fetchNames("field", line, "", host)).map(({ value, help }) => ({
      value: value + suffix,
      help,
      open: suffix !== "",
    })),
  );

/** Inputs that are not on the line yet, as `name=`, then the values that one allows. */
const inputs = (form?: string) =>
  ofCommand(async (line, { typed, host }) => {
    const found = await fetchInputs(line, form, host);
    const assigned = [...line.positionals, line.flags.get("--input") ?? ""];
    return found.fields.flatMap(({ variable, label, control, required, options }) => {
      const start = `${variable}=`;
      const allowed = control === "checkbox" ? ["true", "false"] : options;
      if (typed.startsWith(start)) return withoutHelp(allowed.map((value) => start + value));
      if (assigned.some((each) => each.startsWith(start))) return [];
      const about = [label === variable ? [] : label, control, required ? "required" : []];
      return [{ value: start, help: about.flat().join(", "), open: true }];
    });
  });

/** Actions of the form on the line. */
const formActions = ofCommand(async (line, { host }) => {
  const { actions } = await fetchInputs(line, "form_token", host);
  return actions.map(({ id, title }) => ({ value: id, help: title }));
});

/** Names of columns with those of the values that a row has besides: the metadata of a document. */
async function withValues(names: readonly string[], line: TypedWords, host: Host) {
  const hasValues = "values" in line.command.returns;
  const found = hasValues ? await fetchNames("field", line, "", host).catch(() => []) : [];
  // Others have to be in quotes, or have the path before their name.
  const values = found.map(({ value }) => value).filter((value) => !/[\s,"']/.test(value));
  return [...new Set([...names, ...values])];
}

/** Columns of the command, of a list the last one. */
const columns = (many: boolean) =>
  ofCommand(async (line, { typed, host }) => {
    const [head = ""] = many ? (/^(.*,)?\+?/.exec(typed) ?? []) : [];
    const names = await withValues(columnNames(line.command.returns), line, host);
    const taken = head.split(/,\+?|^\+/);
    return withoutHelp(names.filter((name) => !taken.includes(name)).map((name) => head + name));
  });

/** What a condition is about, at its beginning and after a connective. */
const conditions = (names: readonly string[]) =>
  ofCommand(async (line, { typed, host }) => {
    const head = typed.slice(0, typed.lastIndexOf(" ") + 1);
    if (head !== "" && !/ (and|or|not) $/.test(` ${head}`)) return [];
    const all = await withValues(names, line, host);
    return all.map((name) => ({ value: head + name, help: "", open: true }));
  });

/** What --where is about: the rows of a list, or the documents that it stands for. */
const whereSource: CandidateLookup = (at) => {
  const { command } = at.line;
  if (!command) return [];
  const returns = matchedDocuments(command) ? listDocuments.returns : command.returns;
  const line = { ...at.line, command: { ...command, returns } };
  return conditions(columnNames(returns))({ ...at, line });
};

/** Values of shared flags that are looked up. */
const sharedValues: Readonly<Record<string, CandidateSource>> = {
  "--profile": profileNames,
  "--app": async ({ line, host }) => withoutHelp(await appNames(line.flags, host)),
  "--columns": columns(true),
  "--sort": columns(false),
  "--where": whereSource,
};

/** Values by the word for them in help. */
const wordValues: Readonly<Record<string, CandidateSource>> = {
  "name=value": inputs(),
  "field=value": fields("="),
  field: fields(),
  "provider/model": models("text-embedding"),
};

/** Values of parameters whose kind and word are not specific enough. */
const paramValues: Readonly<Record<string, CandidateSource>> = {
  "profile show name": profileNames,
  "profile use name": profileNames,
  "profile remove name": profileNames,
  "login name": profileNames,
  "login format": formats,
  "api method": ["GET", "POST", "PUT", "PATCH", "DELETE"],
  "api path": [],
  "api raw_field": [],
  "sandbox command": "files",
  "stop task_id": runs,
  "open workflow_run_id": runs,
  "form show form_token": forms,
  "form submit form_token": forms,
  "form submit action": formActions,
  "form submit input": inputs("form_token"),
  "eval rerank_model": models("rerank"),
  "tune rerank_model": models("rerank"),
  "timeline run": recordings,
  "diff a": recordings,
  "diff b": recordings,
};

const pathWords = /^(file|dir|directory|folder|path|data|zip|suite|results|labels|history)$/;
