import { commandLine, shownLine } from "../../lib/command-line.ts";
import { own } from "../../lib/json.ts";
import { isFileName, isPath } from "../../lib/text.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { commandsBelow, flagOf, flagParams, isRequired } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { flagsOf, ownFlags } from "../parse/shared-flags.ts";
import { choiceFor } from "../parse/choice-words.ts";
import { requiredFlagsLeft } from "./argument-places.ts";
import { nameOf, usageHint } from "./failure.ts";
import { flagsTyped, hintOfTime, kebab } from "./flag-values.ts";
import type { Explanation, Failure } from "./failure.ts";
import { lineBehindCommand, lineOfDocument, lineOfVerbAndNoun, lineOfWords } from "./meant-line.ts";

/** Commands without arguments, with those that take what follows them. */
export const linesWithArguments: Readonly<Record<string, string>> = {
  "kb list": "kb doc list",
  "wf chat": "wf chat send",
  "kb tag list": "kb tag bound",
  "wf logs": "wf show",
};

/** Commands that take one argument, with those that two are meant for. */
const linesForTwo: Readonly<Record<string, string>> = { "kb tag delete": "kb tag unbind" };

/** Commands that write to no directory, with those that do. */
const linesForPath: Readonly<Record<string, string>> = {
  "kb copy": "kb export",
  "kb pull": "kb export",
  "kb plan": "kb status",
  "kb apply": "kb sync",
};

/** Commands that take no files, with those that do. */
const linesForFiles: Readonly<Record<string, string>> = {
  "kb create": "kb doc upload",
  "kb doc add": "kb doc upload",
  "kb doc update": "kb doc replace",
};

/** Flags that a word too many can be meant for, and what they do. */
const meantByWord: Readonly<Record<string, string>> = {
  action: "pass the action",
  text: "pass the text",
  content: "pass the content",
  keyword: "search",
  name: "add a new name",
  query: "pass the query",
  value: "pass the value",
};

/** What a question begins with, and no name of a knowledge base. */
const questionWord = /^(how|what|who|whom|when|where|why|which|is|are|can|do|does)$/i;

/** Words of a sentence: `add leave.md to Handbook`. */
export const fillers = ["to", "into", "in", "from", "of", "for", "the", "with"];

/** What takes a word such as `status=done`. */
const assignments = ["raw-field", "input"];

/**
 * The hint is a command that works: unquoted words of a last text argument are joined, otherwise the
 * excess arguments are dropped.
 *
 *     kb search Handbook parental leave       → kb search Handbook 'parental leave'
 *     kb doc replace Handbook a.md b.md c.md  → kb doc replace Handbook a.md b.md
 */
export function excessArguments(failure: Failure): Explanation {
  const { node, command } = failure;
  const expected = node.registeredArguments.length;
  const [first = ""] = node.args;
  const last = command?.positionals.at(-1)?.word;
  const message = `too many arguments: expected ${expected}, got ${node.args.length}`;
  const meant = columnsOfJson(failure) ? undefined : otherCommand(failure);
  if (meant !== undefined) return { message, hint: `did you mean ${meant}?` };
  if (!command) return { message, hint: usageHint(failure) };
  const address = node.args.find((word) => /^https?:/.test(word));
  if (address !== undefined && command.words[1] === "login")
    return { message, hint: loginHint(command, node.args, address) };
  const withText = lineWithText(failure, command);
  if (withText) return { message, hint: `quote text with spaces: ${withText}` };
  // `kb search How many days are there`
  if (last === "query" && command.words[0] === "kb" && questionWord.test(first))
    return {
      message,
      hint: `quote text with spaces: ${shownLine([...command.words, "KB", node.args.join(" ")])}`,
    };
  // `kb doc rename Handbook a.md to b.md`
  const words = node.args.filter((word) => !fillers.includes(word));
  if (last !== "query" && words.length === expected && words.length < node.args.length)
    return { message, hint: `did you mean ${shownLine([...command.words, ...words])}?` };
  const hint =
    hintOfTime(failure, command) ??
    (node.args.length === expected + 1 ? hintOfOne(failure, command) : undefined) ??
    hintOfSeveral(failure, command);
  return { message, hint };
}

/**
 * The line with the words behind the value of a flag as a part of it, where all arguments stand before the flag:
 * `kb create X --description Rules for staff`.
 */
function lineWithText({ node, words }: Failure, command: Command): string | undefined {
  const typed = words.slice(command.words.length - 1);
  const at = typed.findIndex((word) => word.startsWith("-"));
  const before = typed.slice(0, at);
  const flag = typed[at] ?? "";
  const takesText = kindOfFlag(command, flag.replace(/^--/, "")) === "text";
  const next = typed.findIndex((word, index) => index > at && word.startsWith("-"));
  const end = next === -1 ? typed.length : next;
  const text = typed.slice(at + 1, end);
  const { length } = command.positionals;
  if (at < 1 || !takesText || text.length < 2 || before.length < length) return undefined;
  const names = [...before.slice(0, length - 1), before.slice(length - 1).join(" ")];
  const isWhole = node.args.length === before.length + text.length - 1;
  return isWhole
    ? shownLine([...command.words, ...names, flag, text.join(" "), ...typed.slice(end)])
    : undefined;
}

/** The command that takes these arguments: `kb list documents Handbook`, `wf chat hello`. */
function otherCommand({ node, commands }: Failure): string | undefined {
  const words = nameOf(node).split(" ");
  const [program = "", verb = "", ...below] = words;
  const [first = "", ...rest] = node.args;
  // `kb sync status Handbook docs`
  const known = below.length === 0 ? lineOfWords(program, [verb, first]) : undefined;
  if (known !== undefined) return shownLine([...known.split(" "), ...rest]);
  const makesNew = own(linesForFiles, words.join(" ")) !== undefined;
  const ofDocument = words.length === 2 && !makesNew ? [verb, ...node.args] : [];
  const line =
    lineOfDocument([program], ofDocument, commands) ??
    lineOfVerbAndNoun(words, node.args, commands) ??
    lineBehindCommand(words, node.args, commands);
  const [, log = "", ...named] = line ?? [];
  if (log === "logs" && named.length > 0 && !named[0]?.startsWith("-"))
    return commandLine("wf show", named);
  if (line) return shownLine(line);
  const other = own(linesWithArguments, words.join(" "));
  // `docker logs NAME` names an application.
  const isName = other === "wf show" && !/\d|^last$/.test(node.args.join(""));
  if (other === undefined || isName) return undefined;
  const text = node.args.join(" ");
  const searched =
    words.join(" ") === "kb list" ? `, or ${commandLine("kb list", [], { keyword: text })}` : "";
  return `${commandLine(other, [text])}${searched}`;
}

/** Are the arguments too many by columns? `gh list --json name,id` */
const columnsOfJson = ({ node }: Pick<Failure, "node">): boolean =>
  node.opts()["json"] === true && node.args.length === node.registeredArguments.length + 1;

/** What a single word too many is meant for: columns, the value of a flag, an application. */
function hintOfOne({ node, commands }: Failure, command: Command): string | undefined {
  const args = node.args.slice(0, -1);
  const [word = ""] = node.args.slice(-1);
  const typed = flagsTyped(node);
  const line = (flags: NonNullable<Parameters<typeof commandLine>[2]>) => {
    const named = Object.keys(flags).map((name) => `--${name}`);
    const left = requiredFlagsLeft(command, [...typed, ...named]);
    return commandLine(command.words.join(" "), args, { ...flags, ...left });
  };
  if (columnsOfJson({ node }))
    return `--json takes no columns; if these are columns: ${line({ json: true, columns: word })}`;
  const given = Object.keys(node.opts()).find((name) => node.opts()[name] === true);
  if (given !== undefined && ["true", "false"].includes(word))
    return `flags take no value: ${line({ [`${word === "true" ? "" : "no-"}${kebab(given)}`]: true })}`;
  const choice = choiceFor(command, word);
  if (choice) return `did you mean ${line({ [choice.flag]: choice.value })}?`;
  const flags = longFlags(command);
  const [name = "", value = ""] = word.split("=", 2);
  const assigns = word.includes("=") && assignments.find((name) => flags.has(`--${name}`));
  if (assigns) return `did you mean ${line({ [assigns]: word })}?`;
  if (flags.has(`--${name}`) && value !== "") return `did you mean ${line({ [name]: value })}?`;
  // `kb import Handbook ./export`, `wf chat send 3f2a hello`
  const [first = ""] = args;
  const isDirectory = command.positionals[0]?.word === "dir" && isPath(word) && !isPath(first);
  if (isDirectory && flags.has("--name"))
    return `did you mean ${commandLine(command.words.join(" "), [word], { name: first })}?`;
  if (flags.has("--conversation-id") && /^[0-9a-f-]{4,36}$|^last$/.test(first))
    return `did you mean ${commandLine(command.words.join(" "), [word], { "conversation-id": first })}?`;
  const to = own(linesForPath, command.words.join(" "));
  if (to !== undefined && isPath(word)) return `did you mean ${commandLine(to, node.args)}?`;
  const writes = flagsOf(command).some(({ long }) => long === "--output-file");
  if (isFileName(word) && writes) return `did you mean ${line({ "output-file": word })}?`;
  if (isFileName(word) && command.positionals.map((each) => each.word).join(" ") === "kb")
    return `it takes a whole knowledge base: ${line({})}`;
  const [program = "", ...words] = command.words;
  const timed = ["since", "timeout"].find((name) =>
    flagsOf(command).some(({ long }) => long === `--${name}`),
  );
  const waits = command.words.at(-1) === "wait";
  if (waits && timed === "timeout" && /^\d+$/.test(word))
    return `did you mean ${line({ timeout: `${word}s` })}?`;
  if (/^\d+[smhdw]$/.test(word) && timed) return `did you mean ${line({ [timed]: word })}?`;
  const below = args.length === 0 ? commandsBelow(command.words, commands) : [];
  const near = didYouMean(
    word,
    below.map(({ words }) => words.at(-1) ?? ""),
  );
  const meantBelow = below.find(({ words }) => words.at(-1) === near);
  if (meantBelow)
    return `did you mean ${commandLine(meantBelow.words.join(" "), [], requiredFlagsLeft(meantBelow, []))}?`;
  const app =
    command.key === "app" &&
    command.positionals.length === 0 &&
    requiredFlags(command, node.args) === undefined &&
    /^[a-z]/i.test(word)
      ? `applications are named by --app: ${shownLine([program, "--app", word, ...words])}`
      : undefined;
  // What the second of two words may be: `kb doc list Handbook leave`, `kb copy Handbook Backup`.
  const meant = Object.keys(meantByWord).find((name) => takesValue(command, name));
  // `form submit approve ID`
  const [verdict = ""] = args;
  const rated = choiceFor(command, verdict);
  const isId = /^[0-9a-f]{4,}(-|$)/.test(word) && !/\d/.test(verdict);
  if (rated && isId)
    return `did you mean ${commandLine(command.words.join(" "), [word], { [rated.flag]: rated.value })}?`;
  if (meant === "action" && isId)
    return `did you mean ${commandLine(command.words.join(" "), [word], { action: args[0] })}?`;
  if (meant !== undefined && !takesFiles(command, word) && !word.includes("=")) {
    const isQuoted = node.args.some((each) => each.includes(" "));
    const either = (meant === "keyword" && app) || (isQuoted ? "" : "quote names with spaces");
    return `${either}${either && ", or "}${meantByWord[meant]}: ${line({ [meant]: word })}`;
  }
  return app;
}

/** `login https://host app-key`, `login work https://host` */
function loginHint({ words }: Command, args: readonly string[], address: string): string {
  const names = args.filter(
    (word) => word !== address && !/^(app|dataset|sk|pk|key)[-_]/.test(word),
  );
  const line = commandLine(words.join(" "), names.slice(0, 1), { "base-url": address });
  return `did you mean ${line}? It asks for the key, or takes it from --key-file FILE`;
}

/** The kind of the value of a flag; undefined if the command has none of this name. */
const kindOfFlag = (command: Command, flag: string) =>
  flagParams(command).find(([name, param]) => flagOf(name, param) === flag)?.[1].kind;

/** Does a command have a flag of this name with a value? */
const takesValue = (command: Command, name: string): boolean =>
  (kindOfFlag(command, name) ?? "flag") !== "flag";

const longFlags = (command: Command): ReadonlySet<string | undefined> =>
  new Set(ownFlags(command).map(({ long }) => long));

const takesFiles = ({ words }: Command, word: string): boolean =>
  own(linesForFiles, words.join(" ")) !== undefined && /[./]/.test(word);

const makes = ({ words }: Command): boolean => words.at(-1) === "create";

/** The flags that a command without arguments needs, with the words in their order. */
function requiredFlags(command: Command, words: readonly string[]): string | undefined {
  const names = flagParams(command).flatMap(([name, param]) =>
    isRequired(param) && param.kind === "text" ? flagOf(name, param) : [],
  );
  if (command.positionals.length > 0 || words.length > names.length) return undefined;
  const pairs = words.map((word, at) => [names[at] ?? "", word] as const);
  const left = requiredFlagsLeft(
    command,
    names.slice(0, words.length).map((name) => `--${name}`),
  );
  return commandLine(command.words.join(" "), [], { ...Object.fromEntries(pairs), ...left });
}

function hintOfSeveral(failure: Failure, command: Command): string {
  const { node } = failure;
  const expected = node.registeredArguments.length;
  const flags = requiredFlags(command, node.args);
  if (flags !== undefined) return `did you mean ${flags}?`;
  const last = command.positionals.at(-1);
  const textFlag = Object.keys(meantByWord).find((name) => takesValue(command, name));
  // `wf text create write a poem`
  if (last === undefined && textFlag !== undefined && textFlag !== "keyword")
    return `${meantByWord[textFlag]}: ${commandLine(command.words.join(" "), [], { [textFlag]: node.args.join(" ") })}`;
  if (last === undefined) return usageHint(failure);
  const line = (args: readonly string[]) => commandLine(command.words.join(" "), args);
  const files = node.args.slice(expected);
  const then = own(linesForFiles, nameOf(node));
  if (then !== undefined && files.some((word) => takesFiles(command, word)))
    return `${makes(command) ? "it is created empty; then add the files:" : "files are for"} ${commandLine(then, node.args)}`;
  const first = node.args.slice(0, expected - 1);
  const others = node.args.slice(expected - 1);
  const whole = line([...first, others.join(" ")]);
  const kind = command.params[last.name]?.kind;
  if (command.effect === "destroys" && node.args.length < 6) {
    const each = others.map((word) => line([...first, word]));
    const [one = ""] = node.args;
    const two = /^\p{Lu}/u.test(one) ? own(linesForTwo, nameOf(node)) : undefined;
    const meant = two === undefined ? "" : `did you mean ${commandLine(two, node.args)}? Or `;
    const quoted = kind === "uuid" ? "" : `; quote a name with spaces: ${whole}`;
    return `${meant}one at a time: ${each.join(", ")}${quoted}`;
  }
  // `kb chunk add Handbook a.md thirty days`
  const takes = longFlags(command);
  const isNamed = command.words.at(-1) === "rename" && last.word !== "name";
  const flag = ["content", "text", ...(isNamed ? ["name"] : [])].find((name) =>
    takes.has(`--${name}`),
  );
  if (
    (kind === "ref" || last.word === "name" || isNamed) &&
    flag !== undefined &&
    !files.some(isFileName)
  ) {
    const args = node.args.slice(0, expected);
    const shown = commandLine(command.words.join(" "), args, { [flag]: files.join(" ") });
    return `quote names with spaces, or ${meantByWord[flag]}: ${shown}`;
  }
  // `kb chunk export Handbook a.md chunks.csv`
  const file = node.args.at(-1) ?? "";
  const ofDocument = command.positionals.some(({ word }) => word === "doc");
  if (!ofDocument && ["file", "questions"].includes(last.word) && isFileName(file))
    return `did you mean ${line([...first, file])}?`;
  if ((kind === "text" || kind === "ref") && !node.args.some(isPath))
    return `quote ${kind === "ref" ? "names" : "text"} with spaces: ${whole}`;
  return `pass one ${last.word} at a time: ${line(node.args.slice(0, expected))}`;
}
