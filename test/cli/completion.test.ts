import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { cli, temporaryDirectory, type World } from "../lib/support.ts";
import { rareTest, sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { root } from "../lib/paths.ts";

/** Lines that `__complete` prints: words with descriptions. */
async function completionLines(words: readonly string[], world: World = {}, program = "kb") {
  const ran = await cli([program, "__complete", "--", ...words], world);
  expect(ran).toMatchObject({ exit: 0, err: "" });
  return ran.out.split("\n").slice(0, -1);
}

/** The words without descriptions. */
const values = async (words: readonly string[], world: World = {}, program = "kb") =>
  (await completionLines(words, world, program)).map((line) => line.split("\t")[0]);

test("a command has its summary as description", async () => {
  expect(await completionLines(["tag", "ren"])).toEqual(["rename\tRename a tag"]);
});

test("a group has the words below it as description", async () => {
  expect(await completionLines(["met"])).toEqual([
    "metadata\tlist, create, rename, delete, set, built-in",
  ]);
});

test("groups inside groups are completed", async () => {
  expect(await values(["metadata", "built-in", ""])).toEqual(["list", "disable", "enable"]);
});

test("wf has its own words and the shared ones", async () => {
  const words = await values([""], {}, "wf");
  expect(words).toEqual(expect.arrayContaining(["run", "logs", "profile", "completion", "help"]));
  expect(words).not.toContain("tag");
});

test("flags are the command's own and its shared ones, without those on the line", async () => {
  expect(await completionLines(["tag", "create", "x", "--if"])).toEqual([
    "--if-not-exists\tSucceed if it already exists",
  ]);
  expect(await values(["tag", "create", "--dry-run", "x", "--d"])).toEqual([]);
  expect(await values(["tag", "list", "-vq", "--verb"])).toEqual(["--verbose"]);
  expect(await values(["tag", "list", "-vq", "--qu"])).toEqual([]);
});

test("a flag that chooses another command is offered, and then the flags of that command", async () => {
  expect(await completionLines(["sync", "--conf"])).toEqual([
    "--config\tSync the sources of a file, each to its knowledge base",
  ]);
  expect(await values(["sync", "--config", ""])).toEqual([":files"]);
  expect(await values(["sync", "--config", "sources.yaml", "--allow-r"])).toEqual(["--allow-run"]);
  expect(await values(["sync", "--", "--config", "x", "--allow-r"])).toEqual([]);
});

test.each(["run", "plan", "score", "merge", "accept", "calibrate", "flaky"])(
  "wf test %s completes files",
  async (word) => {
    expect(await values(["test", word, "exa"], {}, "wf")).toEqual([":files"]);
  },
);

test("a flag that is sent has a --no- form, a text a -file form", async () => {
  expect(await values(["list", "--no-inc"])).toEqual(["--no-include-all"]);
  expect(await values(["doc", "add", "--text"])).toEqual(["--text", "--text-file"]);
});

test.each([
  [
    ["create", "x", "--indexing-technique", ""],
    ["high_quality", "economy"],
  ],
  [["create", "x", "--indexing-technique=e"], ["--indexing-technique=economy"]],
  [
    ["ls", "-o", "js"],
    ["json", "jsonl"],
  ],
  [["-o", "ya"], ["yaml"]],
  [
    ["list", "--color", ""],
    ["always", "never", "auto"],
  ],
  [["login", "x", "--format", "ya"], ["yaml"]],
  [
    ["tag", "list", "--columns", ""],
    ["name", "bindings", "type", "id"],
  ],
  [["tag", "list", "--columns=name,b"], ["--columns=name,bindings"]],
  [["tag", "list", "--sort", "na"], ["name"]],
  [
    ["check", "--fail-if", "problems>0 or st"],
    ["problems>0 or stuck", ":open"],
  ],
  [["check", "--fail-if", "problems st"], []],
  [["api", "PA"], ["PATCH"]],
  [["model", "list", "text"], ["text-embedding"]],
])("values: %j gives %j", async (words, wanted) => {
  expect(await values(words)).toEqual(wanted);
});

test.each([
  [["doc", "upload", "Handbook", ""]],
  [["doc", "add", "Handbook", "x", "--text-file", "re"]],
  [["--ca-file", ""]],
  [["list", "--ca-file=a"]],
])("%j requests the shell's file completion", async (words) => {
  expect(await completionLines(words)).toEqual([":files"]);
});

test("there are no candidates for free text and after an unknown command", async () => {
  expect(await completionLines(["create", ""])).toEqual([]);
  expect(await completionLines(["list", "--jq", ""])).toEqual([]);
  expect(await completionLines(["nonsense", ""])).toEqual([]);
});

test("help completes topics and commands", async () => {
  expect(await values(["help", "exit"])).toEqual(["exit-codes"]);
  expect(await values(["help", "tag", "ren"])).toEqual(["rename"]);
});

test("profiles, and the applications of the profile on the line", async () => {
  const folder = await temporaryDirectory();
  const add = ["login", "work place", "--base-url", "http://127.0.0.1:9/v1", "--no-check"];
  for (const app of ["echo", "support"]) {
    const ran = await cli(["wf", ...add, "--app", app, "--key-file", "-"], {
      folder,
      stdin: "app-echo",
    });
    expect(ran.exit, ran.err).toBe(0);
  }
  expect(await completionLines(["-p", "wo"], { folder })).toEqual([
    "work place\thttp://127.0.0.1:9/v1",
  ]);
  expect(await values(["profile", "use", ""], { folder })).toEqual(["work place", "sandbox"]);
  expect(await values(["-p", "work place", "--app", ""], { folder }, "wf")).toEqual([
    "echo",
    "support",
  ]);
});

/** A stopped clock, so that a busy machine does not reach the time limit. */
const moment = new Date("2026-01-01T00:00:00Z");
const still = { now: () => moment };

const awkward = ["Team Handbook", `it's "5 $" & more`, "報告書 2024", "-dash", "name: x"];

/** A sandbox with named objects, and a host with a stopped clock. */
async function furnished(options: Parameters<typeof testSandbox>[0] = {}) {
  const sandbox = await testSandbox(options);
  const folder = await temporaryDirectory();
  const world = { ...still, folder, env: sandbox.env };
  for (const name of awkward) {
    const ran = await sandbox.cli(["kb", "tag", "create", "--", name]);
    expect(ran.exit, ran.err).toBe(0);
  }
  for (const line of [
    ["create", "Handbook", "--indexing-technique", "economy"],
    ["create", "Handbook 2", "--indexing-technique", "economy"],
    ["doc", "add", "Handbook", "welcome.md", "--text", "Hello"],
    ["metadata", "create", "Handbook", "team", "--type", "string"],
  ]) {
    const ran = await sandbox.cli(["kb", ...line]);
    expect(ran.exit, ran.err).toBe(0);
  }
  sandbox.seen.length = 0;
  return { ...sandbox, world, folder };
}

test("names of knowledge bases, documents, tags and fields come from the server", async () => {
  const { world } = await furnished();
  // The server chooses the order of objects created in the same second.
  const found = await values(["show", "Hand"], world);
  expect(found.toSorted()).toEqual(["Handbook", "Handbook 2"]);
  expect(await values(["doc", "show", "Handbook", ""], world)).toEqual(["welcome.md"]);
  expect(await values(["metadata", "delete", "Handbook", ""], world)).toEqual(["team"]);
  expect(await values(["tag", "bind", "Handbook", "name:Te"], world)).toEqual([
    "name:Team Handbook",
  ]);
  // Names that look like a flag or a prefix get the prefix name:.
  expect(new Set(await values(["tag", "delete", ""], world))).toEqual(
    new Set([...awkward.slice(0, 3), "name:-dash", "name:name: x"]),
  );
});

test("runs of the application are completed, newest first, with their status and age", async () => {
  const { cli: run, env } = await testSandbox();
  const folder = await temporaryDirectory();
  const at = (minute: number) => ({
    folder,
    now: () => new Date(moment.getTime() + minute * 60_000),
  });
  const ids: string[] = [];
  for (const minute of [0, 2]) {
    const ran = await run(["wf", "run", "query=x", "-o", "name"], at(minute));
    ids.push(ran.out.trim());
  }
  const paused = await run(["wf", "--app", "review", "run", "query=x", "-o", "name"], at(3));
  const world = { ...at(5), env };
  const newest = "last\tthe newest";
  expect(await completionLines(["show", ""], world, "wf")).toEqual([
    newest,
    `${ids[1]}\tsucceeded, 3m ago`,
    `${ids[0]}\tsucceeded, 5m ago`,
  ]);
  expect(await completionLines(["--app", "review", "show", ""], world, "wf")).toEqual([
    newest,
    `${paused.out.trim()}\tpaused, 2m ago`,
  ]);
  const [token = ""] = await values(["--app", "review", "form", "submit", ""], world, "wf").then(
    (all) => all.filter((each) => each !== "last"),
  );
  const form = await run(["wf", "--app", "review", "form", "show", token, "-o", "json"], at(5));
  expect(form.exit, form.err).toBe(0);
  const [older = "", newer = ""] = ids;
  expect(await values(["events", newer, older.slice(0, 20)], world, "wf")).toEqual([older]);
  for (const command of ["wait", "open"])
    expect(await values([command, older.slice(0, 20)], world, "wf")).toEqual([older]);
  expect(await values(["timeline", older.slice(0, 20)], world, "wf")).toEqual([":files"]);
  expect(await values(["diff", older, newer.slice(0, 20)], world, "wf")).toEqual([newer, ":files"]);
  const elsewhere = { ...world, env: { ...env, KB_BASE_URL: "http://127.0.0.1:9/v1" } };
  expect(await values(["show", ""], elsewhere, "wf")).toEqual(["last"]);
  expect(await values(["open", ""], elsewhere, "wf")).toEqual(["last"]);
});

test("of runs, a stop is offered those that can be stopped", async () => {
  const { done, cli: run, env } = await testSandbox();
  const folder = await temporaryDirectory();
  const start = ["wf", "--app", "slow", "run", "query=x", "-o", "name"];
  await done([...start, "seconds=0"], { folder });
  const ran = await done([...start, "seconds=600", "--detach"], { folder });
  const found = await values(["--app", "slow", "stop", ""], { ...still, folder, env }, "wf");
  expect(found).toEqual(["last", ran.out.trim()]);
  await run(["wf", "--app", "review", "run", "query=x"], { folder });
  const paused = await values(["--app", "review", "stop", ""], { ...still, folder, env }, "wf");
  expect(paused).toEqual(["last"]);
});

test("inputs of an application and of a form are completed with their choices", async () => {
  const { cli: run, env } = await testSandbox();
  const world = { ...still, folder: await temporaryDirectory(), env };
  const lines = (...words: readonly string[]) => completionLines(["--app", ...words], world, "wf");
  expect(await lines("inputs", "run", "")).toEqual([
    "name=\tName, text-input, required",
    "text=\tText, paragraph",
    "kind=\tKind, select, required",
    "count=\tCount, number",
    "flag=\tFlag, checkbox",
    "doc=\tDoc, file",
    "docs=\tDocs, file-list",
    ":open",
  ]);
  expect(await lines("inputs", "run", "kind=")).toEqual(["kind=a\t", "kind=b\t"]);
  expect(await lines("inputs", "run", "--input", "flag=f")).toEqual(["flag=false\t"]);
  expect(await lines("inputs", "run", "kind=a", "--input=k")).toEqual([]);
  expect(await lines("inputs", "api", "/x", "-f", "")).toEqual([]);
  await run(["wf", "--app", "review", "run", "query=x"], world);
  expect(await lines("review", "form", "submit", "last", "--action", "")).toEqual([
    "approve\tApprove",
    "reject\tReject",
  ]);
  expect(await lines("review", "form", "submit", "last", "-i", "")).toEqual([
    "comment=\tparagraph",
    ":open",
  ]);
  expect(await lines("review", "form", "submit", "--action", "")).toEqual([]);
});

test("fields, chunks and models of a knowledge base are completed", async () => {
  const { done, world } = await furnished({ models: true });
  await done(["kb", "metadata", "create", "Handbook", "due date", "--type", "time"]);
  await done(["kb", "metadata", "create", "Handbook", "status", "--type", "string"]);
  const kb = (...words: readonly string[]) => completionLines(words, world);
  const set = ["metadata", "set", "Handbook", "welcome.md"];
  expect((await kb(...set, "--set", "")).toSorted()).toEqual(
    [":open", "due date=\ttime", "status=\tstring", "team=\tstring"].toSorted(),
  );
  expect(await kb(...set, "--unset", "t")).toEqual(["team\tstring"]);
  // A column hides a field of its name; a name with a space has to be in quotes.
  expect(await kb("doc", "list", "Handbook", "--columns", "status,te")).toEqual(["status,team\t"]);
  expect(await kb("doc", "list", "Handbook", "--columns", "name,st")).toEqual(["name,status\t"]);
  expect(await kb("doc", "list", "Handbook", "--where", "du")).toEqual([]);
  expect(await kb("doc", "list", "Handbook", "--where", "words>3 and te")).toEqual([
    "words>3 and team\t",
    ":open",
  ]);
  // What stands for documents is about them.
  expect(await kb("doc", "delete", "Handbook", "--where", "te")).toEqual(["team\t", ":open"]);
  expect(await kb("list", "--where", "docu")).toEqual(["documents\t", ":open"]);
  // The key is hidden before the text is cut in the middle of it.
  const text =
    "Parking\n\u001b[1mis free for all of us who come at dataset-sandbox and stay all day";
  const chunk = ["kb", "chunk", "add", "Handbook", "welcome.md", "--content", text, "-o", "name"];
  const id = (await done(chunk)).out.trim();
  expect(await kb("chunk", "show", "Handbook", "welcome.md", id.slice(0, 20))).toEqual([
    `${id}\tParking [1mis free for all of us who come at **** and stay …`,
  ]);
  expect(await kb("chunk", "show", "Handbook", "unknown", "")).toEqual([]);
  const embedding = "langgenius/stub/stub/stub-embed";
  expect(await values(["create", "x", "--embedding-model", embedding], world)).toContain(embedding);
  expect(await values(["tune", "Handbook", "--rerank-model", ""], world)).toEqual([
    "langgenius/stub/stub/stub-rerank",
  ]);
});

test("names that are already on the line are not suggested again", async () => {
  const { world } = await furnished();
  const left = await values(["tag", "bind", "Handbook", "Team Handbook", ""], world);
  expect(left).toContain("報告書 2024");
  expect(left).not.toContain("Team Handbook");
});

test("a server that does not respond within a second yields no candidates and no error", async () => {
  const { world, sandbox } = await furnished();
  sandbox.setFaults([parseFault("GET * silence")]);
  const waits: number[] = [];
  // The clock advances by 200 ms each time it is read.
  let ms = moment.getTime();
  const now = () => new Date((ms += 200));
  expect(await completionLines(["tag", "rename", ""], { ...world, now, waits })).toEqual([]);
  expect(waits[0]).toBe(1000);
});

test.each([
  ["no server", { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "dataset-sandbox" }],
  ["no settings", {}],
  ["a wrong key", { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "app-echo" }],
  ["a wrong setting", { KB_BASE_URL: "nonsense", KB_KEY: "dataset-sandbox", KB_RETRIES: "x" }],
])("%s: no candidates and no error", async (_, env) => {
  const folder = await temporaryDirectory();
  expect(await completionLines(["tag", "rename", ""], { ...still, env, folder })).toEqual([]);
});

test("files are completed even if the runs of the place cannot be read", async () => {
  const folder = await temporaryDirectory();
  const env = { KB_BASE_URL: "nonsense", KB_APP_KEY: "app-echo" };
  const lines = await completionLines(["timeline", ""], { ...still, env, folder }, "wf");
  expect(lines).toEqual(["last\tthe newest", ":files"]);
});

test("a key command is not run for completion", async () => {
  const folder = await temporaryDirectory();
  await cli("kb login w --base-url http://127.0.0.1:9 --key-command pass --no-check".split(" "), {
    folder,
  });
  // Starting a program would fail the test: its host has none.
  expect(await completionLines(["-p", "w", "tag", "rename", ""], { ...still, folder })).toEqual([]);
});

test.each(["bash", "zsh", "fish", "powershell"])(
  "%s: each program prints its own",
  async (shell) => {
    const kb = await cli(["kb", "completion", shell]);
    const wf = await cli(["wf", "completion", shell]);
    expect(kb).toMatchObject({ exit: 0, err: "" });
    expect(kb.out).toContain("kb __complete -- ");
    expect(wf.out).toContain("wf __complete -- ");
    expect(wf.out).not.toMatch(/\bkb\b/);
  },
);

test("an unknown shell is an error that names it", async () => {
  const ran = await cli(["kb", "completion", "tcsh"]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("tcsh");
});

/** How a shell is started with completion; in each, Ctrl-A moves to the start of the line. */
const interactive = {
  bash: {
    args: ["--norc", "--noprofile", "-i"],
    load: "source <(kb completion bash; wf completion bash)",
  },
  zsh: {
    args: ["-i"],
    load: "autoload -U compinit; compinit -u -D; source <(kb completion zsh); source <(wf completion zsh); bindkey -e",
  },
  fish: {
    args: ["--no-config", "-i"],
    load: "bind \\t complete; bind \\ca beginning-of-line; begin; kb completion fish; wf completion fish; end | source",
  },
} as const;

const installed = (shell: string) => spawnSync("sh", ["-c", `command -v ${shell}`]).status === 0;

/** A clock that stands still: completion gives up after a second, which a busy machine may need. */
const stoppedClock = "data:text/javascript,process.hrtime.bigint = () => 0n;";

/** A shell in a terminal of its own, with the built programs, whose completion takes the time it needs. */
async function openShell(
  shell: keyof typeof interactive,
  env: Readonly<Record<string, string>>,
  cwd: string,
) {
  const { args, load } = interactive[shell];
  const terminal = spawn(shell, [...args], {
    cols: 200,
    rows: 40,
    cwd,
    env: {
      PATH: [join(root, "bin", "shims"), process.env["PATH"]].join(delimiter),
      HOME: cwd,
      TERM: "xterm",
      LC_ALL: "C.UTF-8",
      INPUTRC: "/dev/null",
      NODE_OPTIONS: `--import=${encodeURI(stoppedClock)}`,
      ...env,
    },
  });
  let shown = "";
  let heard = () => {};
  terminal.onData((text) => {
    shown += text;
    heard();
  });
  const until = (wanted: RegExp) =>
    new Promise<void>((resolve) => {
      heard = () => wanted.test(shown) && resolve();
      heard();
    });
  terminal.write(`${load}; echo rea''dy\r`);
  await until(/ready\r?\n/);
  return {
    /** The words of the command line after these keys, as the shell splits them. */
    async words(keys: string): Promise<string[]> {
      shown = "";
      terminal.write(`${keys} .\u0001printf '<%s>\\n' \r`);
      await until(/<\.>\r?\n/);
      return [...shown.matchAll(/<([^%\n]*)>\r?\n/g)].map(([, word = ""]) => word).slice(0, -1);
    },
    /** What the shell shows after these keys, once that matches. */
    async shows(keys: string, wanted: RegExp): Promise<string> {
      shown = "";
      terminal.write(keys);
      await until(wanted);
      return shown;
    },
    close: () => terminal.kill(),
  };
}

/** The name of a document. */
const awkwardFile = `a b: it's "x" !y.md`;

const typed: Readonly<Record<string, readonly string[]>> = {
  // A completed word is followed by a blank, so the next word starts at once.
  // Beside the files that its own argument may name.
  "kb backup dri\t": ["kb", "backup", "drill"],
  "kb tag ren\tdraft": ["kb", "tag", "rename", "draft"],
  "kb tag rename Te\t": ["kb", "tag", "rename", "Team Handbook"],
  "kb tag rename Team\\ H\t": ["kb", "tag", "rename", "Team Handbook"],
  "kb tag rename it\t": ["kb", "tag", "rename", `it's "5 $" & more`],
  'kb tag rename "it\t': ["kb", "tag", "rename", `it's "5 $" & more`],
  "kb tag rename 'it\t": ["kb", "tag", "rename", `it's "5 $" & more`],
  "kb tag rename name:'Team H\t": ["kb", "tag", "rename", "name:Team Handbook"],
  "kb tag rename 報\t": ["kb", "tag", "rename", "報告書 2024"],
  "kb tag rename '$(\t": ["kb", "tag", "rename", "$(exit)`exit`"],
  "kb tag rename a:b=\t": ["kb", "tag", "rename", "a:b=c@d"],
  "kb tag list --output=ya\t": ["kb", "tag", "list", "--output=yaml"],
  "kb doc show Handbook w\t": ["kb", "doc", "show", "Handbook", "welcome.md"],
  "kb doc show Handbook a\t": ["kb", "doc", "show", "Handbook", awkwardFile],
  "kb doc show Handbook a\\ b:\\ i\t": ["kb", "doc", "show", "Handbook", awkwardFile],
  'kb doc show Handbook "a b: i\t': ["kb", "doc", "show", "Handbook", awkwardFile],
  "kb doc show Handbook 'a b:\t": ["kb", "doc", "show", "Handbook", awkwardFile],
  // The value follows at once.
  "kb metadata set Handbook welcome.md --set te\tx":
    "kb metadata set Handbook welcome.md --set team=x".split(" "),
  "wf --app inputs run fl\tt\tk\tb": ["wf", "--app", "inputs", "run", "flag=true", "kind=b"],
  "kb doc list Handbook --columns name,te\t": "kb doc list Handbook --columns name,team".split(" "),
  "kb --ca-file my\t": ["kb", "--ca-file", "my file.pem"],
  "kb --ca-file=my\t": ["kb", "--ca-file=my file.pem"],
};

/** Types lines in a shell and compares the resulting words. */
async function typeAll(shell: keyof typeof interactive, all = typed) {
  const lines = Object.fromEntries(sampled(6, Object.entries(all)));
  const { world, env: server, folder, ...rest } = await furnished();
  await rest.done(["kb", "doc", "add", "Handbook", awkwardFile, "--text", "Hello"]);
  for (const name of ["$(exit)`exit`", "a:b=c@d"]) await rest.cli(["kb", "tag", "create", name]);
  await writeFile(join(folder, "my file.pem"), "");
  // Fill the cache with a stopped clock, so that shells do not reach the time limit.
  const now = new Date();
  const warm = { ...world, now: () => now };
  expect(await values(["tag", "rename", "a"], warm)).toEqual(["a:b=c@d"]);
  expect(await values(["doc", "show", "Handbook", "w"], warm)).toEqual(["welcome.md"]);

  const env = { ...server, KB_CACHE_DIR: join(folder, "cache") };
  const opened = await openShell(shell, env, folder);
  const found: Record<string, readonly string[]> = {};
  for (const keys of Object.keys(lines)) found[keys] = await opened.words(keys);
  opened.close();
  expect(found).toEqual(lines);
}

test("bash lists several candidates with what each is, and inserts what they share", async () => {
  const shell = await openShell("bash", {}, await temporaryDirectory());
  const listed = await shell.shows("kb tag b\t\t", /bound {2}\([^)\n]+\)/);
  expect(listed).toMatch(/^bind {3}\(Bind tags to a knowledge base\)/m);
  expect(await shell.words("\u0015kb metadata ren\t")).toEqual(["kb", "metadata", "rename"]);
  shell.close();
});

rareTest("bash completes words, names and files with correct quoting", () =>
  // Only bash closes the quote although the value follows.
  typeAll("bash", {
    ...typed,
    "wf --app inputs run 'ki\tb": ["wf", "--app", "inputs", "run", "kind=b"],
  }),
);
test.runIf(installed("zsh"))("zsh does", () => typeAll("zsh"));
test.runIf(installed("fish"))("fish does", () => typeAll("fish"));
