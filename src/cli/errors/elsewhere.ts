/*
 * Words of other programs with ours for the same. They are shown as hints and never run: elsewhere a word may
 * do something else. `aliases` of cli/parse has those that run.
 */
import { own } from "../../lib/json.ts";

/** Verbs, with those that a group may have for them, best first. */
const verbs: Readonly<Record<string, readonly string[]>> = {
  get: ["show", "list"],
  describe: ["show"],
  view: ["show", "review"],
  inspect: ["show"],
  info: ["show"],
  remove: ["delete"],
  delete: ["remove"],
  destroy: ["delete"],
  new: ["create", "add"],
  add: ["bind", "create", "set"],
  insert: ["add", "create"],
  create: ["add"],
  edit: ["update", "set"],
  modify: ["update"],
  set: ["update"],
  mv: ["rename"],
  cp: ["copy"],
  clone: ["copy"],
  find: ["search"],
  query: ["search"],
  retrieve: ["search"],
  select: ["use"],
  switch: ["use"],
  start: ["run"],
  exec: ["run"],
  execute: ["run"],
  trigger: ["run"],
  cancel: ["stop"],
  kill: ["stop"],
  abort: ["stop"],
  rerun: ["retry"],
  restart: ["retry"],
  approve: ["submit"],
  reject: ["submit"],
  answer: ["submit"],
  unset: ["delete"],
  segment: ["chunk"],
  segments: ["chunk"],
  field: ["metadata"],
  fields: ["metadata"],
};

/**
 * Lines behind each program that no command has, with a line of either; `$1` is the word that follows. A line of
 * one word is a group of other programs whose commands ours has at once: `kb dataset list`.
 */
export const linesElsewhere: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kb: {
    upload: "kb doc upload",
    add: "kb doc upload",
    cp: "kb copy $1 --name",
    rename: "kb update $1 --name",
    mv: "kb update $1 --name",
    push: "kb sync",
    mirror: "kb sync",
    ingest: "kb sync",
    watch: "kb sync",
    diff: "kb verify",
    compare: "kb verify",
    restore: "kb backup restore",
    snapshot: "kb backup",
    history: "kb backup list",
    rollback: "kb undo",
    revert: "kb undo",
    repair: "kb heal",
    fix: "kb heal",
    reindex: "kb heal",
    validate: "kb check",
    ask: "kb search",
    download: "kb doc download",
    dataset: "kb",
    datasets: "kb",
    knowledge: "kb",
    use: "kb profile use",
    whoami: "kb config explain",
    version: "kb --version",
    auth: "kb login",
    "auth login": "kb login",
    "auth logout": "kb profile remove",
    "auth status": "kb profile list",
    init: "kb login",
    logout: "kb profile remove",
    grep: "kb search",
    prune: "kb sync",
    browse: "kb open",
    "backup create": "kb backup DIR",
    "backup delete": "kb backup prune",
    "backup rm": "kb backup prune",
    "doc cat": "kb cat",
    "doc get": "kb cat",
    "profile add": "kb login",
    "profile create": "kb login",
    "config list": "kb config explain",
    "config show": "kb config explain",
    "config view": "kb config explain",
    "config get-contexts": "kb profile list",
    "config use-context": "kb profile use",
  },
  wf: {
    list: "wf logs",
    ls: "wf logs",
    runs: "wf logs",
    "runs list": "wf logs",
    "list runs": "wf logs",
    "get runs": "wf logs",
    "get run": "wf show",
    history: "wf logs",
    ps: "wf top",
    active: "wf top",
    tail: "wf events",
    watch: "wf events",
    follow: "wf events",
    attach: "wf events",
    status: "wf show",
    trace: "wf timeline",
    metrics: "wf stats",
    upload: "wf file upload",
    approve: "wf form submit",
    reject: "wf form submit",
    answer: "wf form submit",
    submit: "wf form submit",
    resume: "wf form submit",
    inbox: "wf form list",
    ask: "wf chat send",
    send: "wf chat send",
    compare: "wf diff",
    use: "wf profile use",
    whoami: "wf config explain",
    version: "wf --version",
    auth: "wf login",
    "auth login": "wf login",
    "auth logout": "wf profile remove",
    "auth status": "wf profile list",
    "workflow run": "wf run",
    init: "wf login",
    logout: "wf profile remove",
    browse: "wf open",
    "app list": "wf profile show",
    "app ls": "wf profile show",
    "profile add": "wf login",
    "profile create": "wf login",
    "config list": "wf config explain",
    "config show": "wf config explain",
    "config view": "wf config explain",
    "config get-contexts": "wf profile list",
    "config use-context": "wf profile use",
  },
};

/** Groups and their verbs by the nouns that other programs write behind a verb: `get documents` is `kb doc list`. */
const groupsOfNouns: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  kb: {
    dataset: ["kb", "list", "show", "create", "update", "delete"],
    document: ["kb doc", "list", "show", "add", "update", "delete", "upload"],
    doc: ["kb doc", "list", "show", "add", "update", "delete", "upload"],
    file: ["kb doc", "list", "show", "delete", "upload"],
    tag: ["kb tag", "list", "create", "delete"],
    chunk: ["kb chunk", "list", "show", "add", "update", "delete"],
    segment: ["kb chunk", "list", "show", "add", "update", "delete"],
    profile: ["kb profile", "list", "show", "remove"],
  },
  wf: { profile: ["wf profile", "list", "show", "remove"], form: ["wf form", "list", "show"] },
};

/** The line for a verb and a noun; undefined for other words. */
export function lineOfNoun(
  [program = "kb", verb = "", ...others]: readonly string[],
  noun: string,
  rest: readonly string[],
): readonly string[] | undefined {
  const [group, ...known] = own(groupsOfNouns[program] ?? {}, noun.replace(/s$/, "")) ?? [];
  if (group === undefined || others.length > 0) return undefined;
  const reads = ["get", "list", "ls"].includes(verb);
  const isMany = noun.endsWith("s");
  const same = verb === "rm" ? "delete" : verb;
  const meant = reads ? [isMany ? "list" : "show"] : [same, ...(own(verbs, same) ?? [])];
  const ours = meant.find((each) => known.includes(each));
  return ours === undefined ? undefined : [...group.split(" "), ours, ...rest];
}

/** The line for a word below a group such as `["kb", "doc"]`, of which these words are known, and for what follows it. */
export function lineElsewhere(
  word: string,
  group: readonly string[],
  known: readonly string[],
  rest: readonly string[],
): readonly string[] | undefined {
  const [program = "kb", ...path] = group;
  const [next, ...others] = rest;
  const lineFor = (...words: string[]) =>
    own(linesElsewhere[program] ?? {}, [...path, ...words].join(" "))?.split(" ");
  const ofTwo = next === undefined ? undefined : lineFor(word, next);
  if (ofTwo) return [...ofTwo, ...others];
  const ofNoun = next === undefined ? undefined : lineOfNoun([...group, word], next, others);
  if (ofNoun) return ofNoun;
  const line = lineFor(word);
  if (line?.includes("$1")) {
    const values = others.length > 0 ? others : ["NAME"];
    return [...line.map((each) => (each === "$1" ? (next ?? "KB") : each)), ...values];
  }
  if (line?.length === 1) return [...line, ...(next === undefined ? ["list"] : rest)];
  if (line) return line.some((each) => each.startsWith("--")) ? line : [...line, ...rest];
  const verb = own(verbs, word)?.find((each) => known.includes(each));
  return verb === undefined ? undefined : [...group, verb, ...rest];
}

/** Commands without arguments, with those that take what follows them. */
export const linesWithArguments: Readonly<Record<string, string>> = {
  "kb list": "kb doc list",
  "wf chat": "wf chat send",
  "wf logs": "wf show",
};

/** Flags, with those that a command may have for them, best first. */
const flags: Readonly<Record<string, readonly string[]>> = {
  "-n": ["--top-k", "--limit"],
  "-l": ["--limit", "--top-k"],
  "-f": ["--follow", "--inputs @FILE", "--input", "--output"],
  "-F": ["--follow", "--input"],
  "-w": ["--watch", "--follow"],
  "-r": ["--reverse"],
  "-A": ["--all"],
  "-d": ["--detach"],
  "--background": ["--detach"],
  "--async": ["--detach"],
  "--limit": ["--top-k"],
  "--max-items": ["--limit", "--top-k"],
  "--head": ["--limit"],
  "--tail": ["--limit"],
  "--method": ["--search-method"],
  "--selector": ["--where", "--keyword"],
  "--filter": ["--keyword", "--where", "--jq"],
  "--content": ["--text"],
  "--text": ["--content"],
  "--body": ["--text", "--content"],
  "--last": ["--since"],
  "--query": ["--input", "--keyword", "--jq"],
  "--template": ["--jq"],
  "--fields": ["--columns"],
  "--format": ["--output"],
  "--yaml": ["--output yaml"],
  "--csv": ["--output csv"],
  "--tsv": ["--output tsv"],
  "--wide": ["--output wide"],
  "--search": ["--keyword"],
  "--name": ["--keyword"],
  "--order-by": ["--sort"],
  "--per-page": ["--limit"],
  "-k": ["--top-k"],
  "-a": ["--all"],
  "--context": ["--profile"],
  "--force": ["--yes"],
  "--confirm": ["--yes"],
  "--debug": ["--verbose"],
  "--silent": ["--quiet"],
  "--no-color": ["--color never"],
  "--no-colour": ["--color never"],
  "--watch": ["--follow"],
  "--delete": ["--prune"],
  "--url": ["--base-url"],
  "--host": ["--base-url"],
  "--server": ["--base-url"],
  "--inputs": ["--input"],
  "--var": ["--input"],
  "--set": ["--input"],
};

/** Of deletes, `-f` is that of rm. */
const forced = "-f";

/** The flag for one of another program, of those that a command has. */
export const flagElsewhere = (flag: string, known: readonly string[]): string | undefined =>
  flag === forced && known.includes("--if-exists")
    ? "--yes"
    : own(flags, flag)?.find((each) => known.some((name) => name === each.split(" ")[0]));

/** Flags that would put a key where others can read it. */
export const keyFlags = ["--api-key", "--key", "--token", "--password"];
