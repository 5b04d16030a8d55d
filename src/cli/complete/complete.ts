import { own } from "../../lib/json.ts";
import { readProfiles } from "../../config/profiles.ts";
import { sandboxProfile } from "../../config/settings.ts";
import type { Host } from "../../host/host.ts";
import type { Noun, Param } from "../../operations/operation.ts";
import { formats } from "../../output/formats-list.ts";
import { flagOf, flagged } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { appNames, namesOf } from "./remote-names.ts";
import { globalFlags, globalsOf, helpOf } from "../parse/shared-flags.ts";
import type { GlobalFlag } from "../parse/shared-flags.ts";
import { longOf, negatable, shortOf, valueOf } from "../help/json.ts";
import { aliases } from "../parse/parser.ts";
import { topicNames } from "../help/topic-names.ts";

/** What may stand in a place: these words, or something that must be looked up first. */
type Offer =
  | readonly string[]
  | "files"
  | "profiles"
  | "apps"
  | { readonly noun: Noun }
  | { readonly commandsBelow: readonly string[] }
  | { readonly flagsOf: Command | undefined }
  | "nothing";

/** The word at the cursor and what could stand there instead. */
interface Place {
  readonly offers: readonly Offer[];
  /** What of the word is there already and stays: `--output=`. */
  readonly before: string;
  /** The rest of the word. */
  readonly typed: string;
  readonly line: Line;
}

/** What the words before the cursor say. */
interface Line {
  /** Program, groups and command. */
  readonly path: readonly string[];
  readonly command: Command | undefined;
  /** Values of the command's positionals, in order. */
  readonly positionals: readonly string[];
  /** Flags that were given, long form, with their last value. */
  readonly flags: ReadonlyMap<string, string>;
  /** The flag whose value comes next. */
  readonly waiting: Flag | undefined;
  /** Was there a `--`? */
  readonly ended: boolean;
}

/** One thing that could stand at the cursor. */
interface Candidate {
  readonly value: string;
  readonly help: string;
}

/** What would act on the line being typed, or show another one. */
const acting = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/**
 * Text that answers a shell: one candidate a line, then a tab and its description; the line
 * `:files` leaves the place to the shell. `words` are those after the program up to the cursor, the
 * last one begun or empty. Nothing to say and every failure give "".
 */
export async function completions(
  program: string,
  words: readonly string[],
  commands: readonly Command[],
  host: Host,
): Promise<string> {
  try {
    const place = placeOf(program, words, commands);
    const found: Candidate[] = [];
    for (const offer of place.offers) {
      if (offer !== "files") found.push(...(await candidates(offer, place, commands, host)));
    }
    const lines = found
      .filter(({ value }) => value.startsWith(place.typed) && value.search(acting) < 0)
      .map(({ value, help }) => `${place.before}${value}\t${help.replace(acting, " ")}\n`);
    return lines.join("") + (place.offers.includes("files") ? ":files\n" : "");
  } catch {
    return ""; // an error would be drawn into the line being typed
  }
}

/** Finds the word at the cursor and what may stand there. */
function placeOf(program: string, words: readonly string[], commands: readonly Command[]): Place {
  const typed = words.at(-1) ?? "";
  const line = lineOf(program, words.slice(0, -1), commands);
  const [, before = "", rest = ""] = /^(--[^=]+=)(.*)$/s.exec(typed) ?? [];
  if (before === "" || line.waiting || line.ended)
    return { line, before: "", typed, offers: offersAfter(line, typed) };
  const flag = flagsFor(line.command).find(({ long }) => `${long}=` === before);
  return { line, before, typed: rest, offers: [flag?.value ?? "nothing"] };
}

/** What may follow a line where no `--flag=` was begun. */
function offersAfter(line: Line, typed: string): Offer[] {
  const { path, command, positionals, waiting, ended } = line;
  const flags = { flagsOf: command };
  if (waiting) return [waiting.value ?? "nothing"];
  if (!ended && typed.startsWith("-")) return [flags];
  if (command === undefined && positionals[0] === "help") {
    const shown = positionals.slice(1);
    const further = { commandsBelow: [...path, ...shown] };
    return shown.length > 0 ? [further] : [helpWords, further];
  }
  const deeper = positionals.length === 0 ? [{ commandsBelow: path }] : [];
  if (command === undefined) return deeper;
  return [...deeper, argumentOffer(command, positionals.length) ?? flags];
}

/** Reads the words before the cursor as the parser would. */
function lineOf(program: string, words: readonly string[], commands: readonly Command[]): Line {
  let path: readonly string[] = [program];
  let waiting: Flag | undefined;
  let ended = false;
  const positionals: string[] = [];
  const flags = new Map<string, string>();
  const commandHere = () => commands.find((command) => isCommand(command, path));
  const isBelow = (word: string) =>
    positionals.length === 0 &&
    !ended &&
    commands.some(({ words: known }) => startsWith(known, [...path, word]));

  for (const word of words) {
    if (waiting) {
      flags.set(waiting.long, word);
      waiting = undefined;
    } else if (ended || !/^-./.test(word)) {
      const name = [word, longAlias(word)].find(isBelow);
      if (name === undefined) positionals.push(word);
      else path = [...path, name];
    } else if (word === "--") ended = true;
    else waiting = readFlag(word, flagsFor(commandHere()), flags);
  }
  return { path, command: commandHere(), positionals, flags, waiting, ended };
}

const startsWith = (words: readonly string[], start: readonly string[]): boolean =>
  start.every((word, index) => words[index] === word);

const longAlias = (word: string): string =>
  Object.entries(aliases).find(([, alias]) => alias === word)?.[0] ?? word;

const helpWords = [...topicNames, "--json"];

/** A flag as it is typed. */
interface Flag {
  readonly long: string;
  readonly short: string | undefined;
  readonly help: string;
  readonly many: boolean;
  /** What its value may be; undefined for a flag without one. */
  readonly value: Offer | undefined;
}

/** Notes a flag that stands before the cursor; gives it back when its value is the next word. */
function readFlag(
  word: string,
  known: readonly Flag[],
  flags: Map<string, string>,
): Flag | undefined {
  const [, name = word, , value] = /^(--[^=]+)(=(.*))?$/s.exec(word) ?? [];
  const long = known.find((flag) => flag.long === name);
  if (long) {
    flags.set(long.long, value ?? "");
    return long.value !== undefined && value === undefined ? long : undefined;
  }
  if (word.startsWith("--")) return undefined;
  // Letters stand together; the first that takes a value takes the rest of the word.
  for (let at = 1; at < word.length; at++) {
    const short = known.find((flag) => flag.short === `-${word[at]}`);
    if (!short) continue;
    const rest = word.slice(at + 1);
    flags.set(short.long, short.value === undefined ? "" : rest);
    if (short.value !== undefined) return rest === "" ? short : undefined;
  }
  return undefined;
}

function flagsFor(command: Command | undefined): Flag[] {
  const shared = command ? globalsOf(command) : globalFlags;
  const own = command
    ? flagged(command).flatMap(([name, param]) => paramFlags(command, name, param))
    : [];
  return [
    ...own,
    ...shared
      .map((flag) => sharedFlag(flag, command))
      .filter(({ long }) => !own.some((flag) => flag.long === long)),
    { long: "--help", short: "-h", help: "Show help", many: false, value: undefined },
    ...(command
      ? []
      : [{ long: "--version", short: "-V", help: "Show version", many: false, value: undefined }]),
  ];
}

function paramFlags(command: Command, name: string, param: Param): Flag[] {
  const long = `--${flagOf(name, param)}`;
  const { help, many = false } = param;
  const short = param.short === undefined ? undefined : `-${param.short}`;
  const value = param.kind === "flag" ? undefined : valueOffer(command, name, param);
  const twin = { short: undefined, help, many: false };
  return [
    { long, short, help, many, value },
    ...(param.orFile ? [{ ...twin, long: `${long}-file`, value: "files" } as const] : []),
    ...(negatable(param) ? [{ ...twin, long: long.replace("--", "--no-"), value: undefined }] : []),
  ];
}

const sharedFlag = (flag: GlobalFlag, command: Command | undefined): Flag => ({
  long: longOf(flag),
  short: shortOf(flag),
  help: helpOf(flag, command),
  many: flag.repeats === true,
  value: flag.choices?.(command) ?? sharedOffer(longOf(flag), valueOf(flag)),
});

const sharedOffer = (long: string, word: string | undefined): Offer | undefined =>
  word === undefined
    ? undefined
    : (own(sharedValues, long) ?? (paths.test(word) ? "files" : "nothing"));

/** Values of shared flags, where more is known of them than a word for the usage line. */
const sharedValues: Readonly<Record<string, Offer>> = {
  "--profile": "profiles",
  "--app": "apps",
};

/** Parameters of the commands of both programs that a row's kinds say too little of. */
const values: Readonly<Record<string, Offer>> = {
  "profile show name": "profiles",
  "profile use name": "profiles",
  "profile remove name": "profiles",
  "profile add format": formats,
  "api method": ["GET", "POST", "PUT", "PATCH", "DELETE"],
  "api path": "nothing",
  "sandbox command": "files",
};

/** Words that stand for a path where no kind says so. */
const paths = /^(file|dir|directory|folder|path|data|zip)$/;

function valueOffer(command: Command, name: string, param: Param): Offer {
  const known = values[[...command.words.slice(1), name].join(" ")];
  if (known) return known;
  if (param.choices) return param.choices;
  if (param.kind === "ref" && param.noun) return { noun: param.noun };
  if (param.kind === "file" || param.kind === "content") return "files";
  return param.in === "local" && (paths.test(name) || paths.test(param.placeholder ?? ""))
    ? "files"
    : "nothing";
}

/** What the positional of that number may be; undefined when the command takes no more. */
function argumentOffer(command: Command, index: number): Offer | undefined {
  const last = command.positionals.at(-1);
  const positional = command.positionals[index] ?? (last?.variadic ? last : undefined);
  const param = positional && command.params[positional.name];
  return positional && param && valueOffer(command, positional.name, param);
}

async function candidates(
  offer: Offer,
  place: Place,
  commands: readonly Command[],
  host: Host,
): Promise<Candidate[]> {
  if (offer === "nothing" || offer === "files") return [];
  if (offer === "profiles") return profileNames(host);
  if (offer === "apps") return plain(await appNames(place.line.flags, host));
  if ("noun" in offer) return references(offer.noun, place, host);
  if ("commandsBelow" in offer) return wordsBelow(offer.commandsBelow, commands);
  if ("flagsOf" in offer) {
    return flagsFor(offer.flagsOf)
      .filter(({ long, many }) => many || !place.line.flags.has(long))
      .map(({ long, help }) => ({ value: long, help }));
  }
  return plain(offer);
}

const plain = (words: readonly string[]): Candidate[] =>
  words.map((value) => ({ value, help: "" }));

async function profileNames(host: Host): Promise<Candidate[]> {
  const { profiles } = await readProfiles(host);
  return [
    ...Object.entries(profiles).map(([value, { base_url = "" }]) => ({ value, help: base_url })),
    { value: sandboxProfile, help: "the local sandbox that runs" },
  ];
}

/** Words that may follow those of a path: a command with its summary, a group with its words. */
function wordsBelow(path: readonly string[], commands: readonly Command[]): Candidate[] {
  const found = new Map<string, string>();
  for (const { words, summary } of commands) {
    const word = words[path.length];
    if (word === undefined || !startsWith(words, path)) continue;
    const next = words[path.length + 1];
    const known = found.get(word);
    if (next === undefined) found.set(word, summary);
    else if (known === undefined) found.set(word, next);
    else if (!commands.some((other) => isCommand(other, [...path, word]))) {
      if (!known.split(", ").includes(next)) found.set(word, `${known}, ${next}`);
    }
  }
  if (path.length === 1) found.set("help", "Show help on a command or a topic");
  return [...found].map(([value, help]) => ({ value, help }));
}

const isCommand = ({ words }: Command, path: readonly string[]): boolean =>
  words.length === path.length && startsWith(words, path);

/** Names from the server; those that stand on the line already are left out. */
async function references(noun: Noun, { line, typed }: Place, host: Host): Promise<Candidate[]> {
  const { command, positionals, flags } = line;
  if (!command) return [];
  const said = (name: string, param: Param): string | undefined => {
    const at = command.positionals.findIndex((positional) => positional.name === name);
    return at >= 0 ? positionals[at] : flags.get(`--${flagOf(name, param)}`);
  };
  const within = Object.entries(command.params)
    .filter(([, param]) => param.noun === "kb")
    .map(([name, param]) => said(name, param))
    .find((value) => value !== undefined);
  const asked = typed.startsWith("name:") ? typed.slice("name:".length) : typed;
  const names = await namesOf(noun, { command, flags, within, typed: asked }, host);
  return names
    .map(({ name, id }) => ({ value: asked === typed ? asTyped(name) : `name:${name}`, help: id }))
    .filter(({ value }) => !positionals.includes(value));
}

/** A name that would be read as a flag or as an id needs its prefix. */
const asTyped = (name: string): string =>
  /^(-|id:|name:|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$)/i.test(name) ? `name:${name}` : name;
