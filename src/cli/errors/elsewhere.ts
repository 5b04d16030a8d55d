/*
 * Words of other programs with ours for the same. They are shown as hints and never run: elsewhere a word may
 * do something else. `aliases` of cli/parse has those that run.
 */
import { own } from "../../lib/json.ts";

/** Verbs, with those that a group may have for them, best first. */
const verbs: Readonly<Record<string, readonly string[]>> = {
  get: ["show", "list"],
  ls: ["list"],
  list: ["show"],
  show: ["list"],
  describe: ["show"],
  view: ["show", "review"],
  inspect: ["show"],
  info: ["show"],
  rm: ["delete", "remove"],
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
  invoke: ["run"],
  call: ["run"],
};

/**
 * Lines for words behind each program that no command has. `$1` is the word that follows; a line with a flag or
 * a word in capitals takes no others. The first word of two is our group for the typed noun.
 */
export const linesElsewhere: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kb: {
    upload: "kb doc upload",
    add: "kb doc upload",
    put: "kb doc upload",
    load: "kb sync",
    cp: "kb copy $1 --name $2",
    copy: "kb copy $1 --name $2",
    clone: "kb copy $1 --name $2",
    duplicate: "kb copy $1 --name $2",
    rename: "kb update $1 --name $2",
    mv: "kb update $1 --name $2",
    push: "kb sync",
    mirror: "kb sync",
    ingest: "kb sync",
    watch: "kb sync",
    diff: "kb verify",
    compare: "kb verify",
    restore: "kb backup restore",
    snapshot: "kb backup",
    save: "kb backup",
    history: "kb backup list",
    rollback: "kb undo",
    revert: "kb undo",
    repair: "kb heal",
    fix: "kb heal",
    retry: "kb heal",
    reindex: "kb heal",
    index: "kb heal",
    embed: "kb heal",
    validate: "kb check",
    wait: "kb doc wait",
    test: "kb eval",
    ask: "kb search",
    grep: "kb search",
    retrieval: "kb search",
    "hit-test": "kb search",
    "hit-testing": "kb search",
    download: "kb doc download",
    stats: "kb show",
    prune: "kb sync",
    "backup create": "kb backup DIR",
    "backup delete": "kb backup prune",
    "doc cat": "kb cat",
    "doc get": "kb cat",
    "doc index": "kb heal $1",
    "doc reindex": "kb heal $1",
    "doc retry": "kb heal $1",
    "doc tag": "kb metadata set",
    "tag assign": "kb tag bind",
  },
  wf: {
    list: "wf logs",
    history: "wf logs",
    ps: "wf top",
    active: "wf top",
    tail: "wf events",
    watch: "wf events",
    follow: "wf events",
    attach: "wf events",
    stream: "wf events",
    status: "wf show",
    result: "wf show",
    output: "wf show",
    outputs: "wf show",
    trace: "wf timeline",
    "node list": "wf timeline",
    "log list": "wf logs",
    "log show": "wf show",
    metrics: "wf stats",
    errors: "wf logs --status failed",
    failures: "wf logs --status failed",
    failed: "wf logs --status failed",
    upload: "wf file upload",
    approve: "wf form submit",
    reject: "wf form submit",
    answer: "wf form submit",
    submit: "wf form submit",
    resume: "wf form submit",
    continue: "wf form submit",
    inbox: "wf form list",
    rate: "wf message feedback",
    like: "wf message feedback",
    "message list": "wf conversation messages",
    "message send": "wf chat send",
    "conversation show": "wf conversation messages",
    ask: "wf chat send",
    send: "wf chat send",
    compare: "wf diff",
    export: "wf logs export",
    download: "wf file preview",
    inputs: "wf app info",
    params: "wf app parameters",
    info: "wf app info",
    "app list": "wf profile show",
    "app show": "wf app info",
    "app use": "wf profile use PROFILE --app APP",
    "app add": "wf login PROFILE --app APP",
  },
};

/** Lines of both programs; their first word is the program. */
const linesOfBoth: Readonly<Record<string, string>> = {
  use: "profile use",
  switch: "profile use",
  whoami: "config explain",
  me: "config explain",
  settings: "config explain",
  version: "--version",
  commands: "--help",
  man: "--help",
  serve: "sandbox",
  up: "sandbox",
  browse: "open",
  web: "open",
  console: "open",
  ui: "open",
  auth: "login",
  init: "login",
  signin: "login",
  configure: "login",
  logout: "profile remove",
  "auth login": "login",
  "auth logout": "profile remove",
  "auth status": "profile list",
  "profile add": "login",
  "profile create": "login",
  "config list": "config explain",
  "config show": "config explain",
  "config set": "login PROFILE --base-url URL",
  "config get-contexts": "profile list",
  "config use-context": "profile use",
};

/** Nouns as other programs write them, in the singular, with our groups; a program is the group of its own objects. */
const groupsOfNouns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kb: {
    dataset: "kb",
    kb: "kb",
    "knowledge-base": "kb",
    knowledge: "kb",
    base: "kb",
    database: "kb",
    collection: "kb",
    document: "kb doc",
    doc: "kb doc",
    file: "kb doc",
    chunk: "kb chunk",
    segment: "kb chunk",
    child: "kb chunk child",
    children: "kb chunk child",
    "child-chunk": "kb chunk child",
    metadata: "kb metadata",
    field: "kb metadata",
    tag: "kb tag",
    label: "kb tag",
    model: "kb model",
    backup: "kb backup",
    profile: "kb profile",
    context: "kb profile",
  },
  wf: {
    run: "wf",
    execution: "wf",
    task: "wf",
    node: "wf node",
    log: "wf log",
    app: "wf app",
    application: "wf app",
    workflow: "wf app",
    form: "wf form",
    file: "wf file",
    conversation: "wf conversation",
    message: "wf message",
    annotation: "wf annotation",
    test: "wf test",
    suite: "wf test",
    user: "wf user",
    feedback: "wf feedback",
    profile: "wf profile",
    context: "wf profile",
  },
};

/** The group for a noun in the singular or plural: `["kb", "doc"]` for `documents`. */
export const groupOfNoun = (program: string, noun: string): readonly string[] | undefined =>
  own(groupsOfNouns[program] ?? {}, noun.replace(/s$/, ""))?.split(" ");

/** The line for words behind a program, with a line of their own. */
export const lineOfWords = (program: string, words: readonly string[]): string | undefined => {
  const typed = words.join(" ");
  const line = own(linesOfBoth, typed);
  return own(linesElsewhere[program] ?? {}, typed) ?? (line && `${program} ${line}`);
};

/** Our verbs for one of another program, best first: itself, then the others. */
export const verbsFor = (verb: string): readonly string[] => [verb, ...(own(verbs, verb) ?? [])];

/** Is this a verb here or in another program? */
export const isVerb = (word: string): boolean =>
  verbsFor(word).length > 1 || ["list", "create", "show", "update", "delete"].includes(word);

/** Words for work that the service API does not offer: the web console does. */
export const consoleWords: readonly string[] = [
  "create",
  "new",
  "edit",
  "update",
  "import",
  "copy",
  "clone",
  "delete",
  "rm",
  "publish",
  "deploy",
  "design",
];

/** Commands without arguments, with those that take what follows them. */
export const linesWithArguments: Readonly<Record<string, string>> = {
  "kb list": "kb doc list",
  "wf chat": "wf chat send",
  "wf logs": "wf show",
};

/** Commands that make what files are added to, with those that add them. */
export const linesForFiles: Readonly<Record<string, string>> = { "kb create": "kb doc upload" };

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
