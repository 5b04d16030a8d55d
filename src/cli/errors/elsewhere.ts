/*
 * Words of other programs with ours for the same. They are shown as hints and never run: elsewhere a word may
 * do something else.
 */
import { own } from "../../lib/json.ts";

/** Verbs, with those that a group may have for them, best first. */
const verbs: Readonly<Record<string, readonly string[]>> = {
  ls: ["list"],
  get: ["show", "list"],
  describe: ["show"],
  view: ["show", "review"],
  inspect: ["show"],
  info: ["show"],
  rm: ["delete", "remove"],
  remove: ["delete"],
  destroy: ["delete"],
  new: ["create", "add"],
  add: ["create", "bind", "set"],
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
  unset: ["delete"],
  segment: ["chunk"],
  segments: ["chunk"],
  field: ["metadata"],
  fields: ["metadata"],
};

/** First words of each program, with a line of either. */
export const linesElsewhere: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kb: {
    upload: "kb doc upload",
    rename: "kb update",
    push: "kb sync",
    mirror: "kb sync",
    ingest: "kb sync",
    watch: "kb sync",
    diff: "kb verify",
    compare: "kb verify",
    restore: "kb backup restore",
    snapshot: "kb backup",
    rollback: "kb undo",
    revert: "kb undo",
    repair: "kb heal",
    fix: "kb heal",
    reindex: "kb heal",
    validate: "kb check",
    ask: "kb search",
    download: "kb doc download",
    dataset: "kb list",
    datasets: "kb list",
    whoami: "kb config explain",
    version: "kb --version",
    auth: "kb login",
    init: "kb login",
    logout: "kb profile remove",
    browse: "kb open",
  },
  wf: {
    list: "wf logs",
    ls: "wf logs",
    runs: "wf logs",
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
    submit: "wf form submit",
    resume: "wf form submit",
    ask: "wf chat send",
    send: "wf chat send",
    compare: "wf diff",
    whoami: "wf config explain",
    version: "wf --version",
    auth: "wf login",
    init: "wf login",
    logout: "wf profile remove",
    browse: "wf open",
  },
};

/** The command for a word below a group such as `["kb", "doc"]`, of which these words are known. */
export function commandElsewhere(
  word: string,
  group: readonly string[],
  known: readonly string[],
): string | undefined {
  const [program = "kb", ...path] = group;
  const verb = own(verbs, word)?.find((each) => known.includes(each));
  if (verb !== undefined) return [...group, verb].join(" ");
  return path.length === 0 ? own(linesElsewhere[program] ?? {}, word) : undefined;
}

/** Flags, with those that a command may have for them, best first. */
const flags: Readonly<Record<string, readonly string[]>> = {
  "-n": ["--top-k", "--limit"],
  "-l": ["--limit", "--top-k"],
  "-f": ["--follow", "--file", "--output"],
  "-w": ["--watch", "--follow"],
  "-r": ["--reverse"],
  "--limit": ["--top-k"],
  "--max-items": ["--limit", "--top-k"],
  "--head": ["--limit"],
  "--tail": ["--limit"],
  "--method": ["--search-method"],
  "--filter": ["--keyword", "--where", "--jq"],
  "--query": ["--keyword", "--jq"],
  "--template": ["--jq"],
  "--fields": ["--columns"],
  "--format": ["--output"],
  "--yaml": ["--output"],
  "--csv": ["--output"],
  "--tsv": ["--output"],
  "--force": ["--yes"],
  "--confirm": ["--yes"],
  "--debug": ["--verbose"],
  "--silent": ["--quiet"],
  "--no-color": ["--color"],
  "--no-colour": ["--color"],
  "--watch": ["--follow"],
  "--delete": ["--prune"],
  "--url": ["--base-url"],
  "--host": ["--base-url"],
  "--server": ["--base-url"],
  "--inputs": ["--input"],
  "--var": ["--input"],
  "--set": ["--input"],
};

/** The flag for one of another program, of those that a command has. */
export const flagElsewhere = (flag: string, known: readonly string[]): string | undefined =>
  own(flags, flag)?.find((each) => known.includes(each));

/** Flags that would put a key where others can read it. */
export const keyFlags = ["--api-key", "--key", "--token", "--password"];
