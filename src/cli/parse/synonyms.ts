import { usage } from "../../errors.ts";
import type { CliError } from "../../errors.ts";
import { shownLine } from "../../lib/command-line.ts";

/*
 * Words of other programs for what `kb` and `wf` name differently. A word counts only where no command
 * has that name. What only reads is run; what writes is refused with the right line, since the words
 * may mean something else elsewhere. Help and completion do not list them.
 */

/** Other spellings of a word, which run whatever the command does. */
export const spellings: Readonly<Record<string, readonly string[]>> = {
  list: ["ls"],
  delete: ["rm"],
  doc: ["docs", "document", "documents"],
  chunk: ["chunks", "segment", "segments"],
  child: ["children"],
  metadata: ["field", "fields"],
  tag: ["tags"],
  model: ["models"],
  pipeline: ["pipelines"],
  profile: ["profiles"],
  app: ["apps", "application"],
  form: ["forms"],
  file: ["files"],
  conversation: ["conversations"],
  message: ["messages"],
  annotation: ["annotations"],
};

/** Other verbs for a command of the same group. */
const verbs: Readonly<Record<string, readonly string[]>> = {
  show: ["get", "describe", "view", "inspect"],
  search: ["find", "query", "retrieve"],
  create: ["new", "add"],
  add: ["new", "create"],
  update: ["edit", "modify"],
  delete: ["remove", "destroy"],
  remove: ["delete", "rm"],
  rename: ["mv"],
  copy: ["clone", "cp"],
  use: ["switch", "select"],
  run: ["start", "execute", "trigger"],
  stop: ["cancel", "kill", "abort"],
};

/** The inputs of a run without those that the server adds. */
const INPUTS = `.inputs|fromjson|with_entries(select(.key|startswith("sys.")|not))`;

/**
 * Lines for a command elsewhere. Words in capitals stand for the arguments of the typed line, in
 * order; its other words follow, then the flags. Behind ` | ` is a command that reads the output.
 */
const lines: Readonly<Record<"both" | "kb" | "wf", Readonly<Record<string, string>>>> = {
  both: {
    version: "--version",
    man: "--help",
    whoami: "config explain",
    "config list": "config explain",
    "config show": "config explain",
    browse: "open",
    init: "login",
    auth: "login",
    "auth login": "login",
    "auth status": "doctor",
    "auth logout": "profile remove NAME",
    logout: "profile remove NAME",
  },
  kb: {
    dataset: "",
    datasets: "",
    upload: "doc upload",
    add: "doc add",
    rename: "update KB --name NAME",
    watch: "sync --watch",
    backup: "export",
    restore: "import",
  },
  wf: {
    workflow: "",
    list: "logs",
    ps: "logs",
    runs: "logs",
    "run list": "logs",
    tail: "logs --follow",
    status: "show",
    "run show": "show",
    "run view": "show",
    watch: "events --follow",
    "run watch": "events --follow",
    "run cancel": "stop",
    metrics: "stats",
    "app list": "profile show",
    upload: "file upload",
    submit: "form submit",
    approve: "form submit TOKEN --action approve",
    reject: "form submit TOKEN --action reject",
    resume: "form submit TOKEN",
    rerun: `show RUN --jq ${INPUTS} | run --inputs -`,
    retry: `show RUN --jq ${INPUTS} | run --inputs -`,
  },
};

/** The names of commands in earlier versions: they run whatever the command does. */
const former: Readonly<Record<"both" | "kb" | "wf", Readonly<Record<string, string>>>> = {
  both: { "profile add": "login" },
  kb: {},
  wf: { "completion create": "text create", "completion stop": "text stop" },
};

/** A word below a group of commands that no command has. */
export interface Synonym {
  readonly word: string;
  /** The line without the program: the words of a command, then words in capitals, then flags. */
  readonly means: string;
  /** It is run even if it writes. */
  readonly isSpelling: boolean;
}

/** The synonyms below a group, such as `["kb", "doc"]` with the words `list`, `show`. */
export function synonymsBelow(group: readonly string[], words: readonly string[]): Synonym[] {
  const [program, ...path] = group;
  const from = (table: typeof verbs, isSpelling: boolean) =>
    words.flatMap((known) =>
      (table[known] ?? []).map((word) => ({ word, means: [...path, known].join(" "), isSpelling })),
    );
  const start = path.map((word) => `${word} `).join("");
  const named = (table: typeof lines, isFormer: boolean) =>
    Object.entries({ ...table.both, ...table[program === "wf" ? "wf" : "kb"] })
      .filter(([line]) => line.startsWith(start) && !line.slice(start.length).includes(" "))
      .map(([line, means]) => ({
        word: line.slice(start.length),
        means,
        isSpelling: isFormer || means === "",
      }));
  const elsewhere = [...named(lines, false), ...named(former, true)];
  const all = [...elsewhere, ...from(spellings, true), ...from(verbs, false)];
  return [...new Map(all.reverse().map((one) => [one.word, one])).values()].filter(
    ({ word }) => !words.includes(word),
  );
}

/**
 * The command lines that a synonym stands for, with the further words of the typed line in place.
 *
 *     form submit TOKEN --action approve, t1 -q → form submit t1 -q --action approve
 */
export function meaningOf({ means }: Synonym, typed: readonly string[]): readonly string[][] {
  const rest = [...typed];
  const filled = (token: string) =>
    /^[A-Z]+$/.test(token) && rest[0]?.startsWith("-") === false ? (rest.shift() ?? token) : token;
  const [first = [], ...others] = means.split(" | ").map((line) =>
    line
      .split(" ")
      .filter((token) => token !== "")
      .map(filled),
  );
  const flags = first.findIndex((token) => token.startsWith("-"));
  const words = flags < 0 ? first : first.slice(0, flags);
  const end = rest.includes("--") ? rest.indexOf("--") : rest.length;
  rest.splice(end, 0, ...first.slice(words.length));
  return [[...words, ...rest], ...others];
}

/** The usage error for a synonym of a command that writes. */
export function synonymError(
  synonym: Synonym,
  group: readonly string[],
  typed: readonly string[],
): CliError {
  const [program = "kb"] = group;
  return usage(
    `unknown command ${JSON.stringify(synonym.word)} for ${group.join(" ")}`,
    `use ${shownMeaning(synonym, program, typed)}`,
  );
}

/** The command lines of a synonym as hints show them. */
export const shownMeaning = (synonym: Synonym, program: string, typed: readonly string[]): string =>
  meaningOf(synonym, typed)
    .map((words) => shownLine([program, ...words]))
    .join(", piped into ");
