import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { expect, test } from "vitest";
import { cli, temporaryFolder } from "../lib/support.ts";
import type { World } from "../lib/support.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { root } from "../lib/paths.ts";

/** Words and descriptions that `__complete` answers. */
async function answers(words: readonly string[], world: World = {}, program = "kb") {
  const ran = await cli([program, "__complete", "--", ...words], world);
  expect(ran).toMatchObject({ exit: 0, err: "" });
  return ran.out.split("\n").slice(0, -1);
}

/** The words alone. */
const values = async (words: readonly string[], world: World = {}, program = "kb") =>
  (await answers(words, world, program)).map((line) => line.split("\t")[0]);

test("a word of a command comes with its summary", async () => {
  expect(await answers(["tag", "ren"])).toEqual(["rename\tRename a tag"]);
});

test("groups come with the words below them", async () => {
  expect(await answers(["met"])).toEqual(["metadata\tlist, create, rename, delete, set, built-in"]);
});

test("words of groups inside groups", async () => {
  expect(await values(["metadata", "built-in", ""])).toEqual(["list", "disable", "enable"]);
});

test("wf has its own words and those of both programs", async () => {
  const words = await values([""], {}, "wf");
  expect(words).toEqual(expect.arrayContaining(["run", "logs", "profile", "completion", "help"]));
  expect(words).not.toContain("tag");
});

test("an alias leads to its command", async () => {
  expect(await values(["tag", "rm", "--y"])).toEqual(["--yes"]);
});

test("flags are the command's own and the shared ones it takes, those given left out", async () => {
  expect(await answers(["tag", "create", "x", "--if"])).toEqual([
    "--if-not-exists\tSucceed if it already exists",
  ]);
  expect(await values(["tag", "create", "--dry-run", "x", "--d"])).toEqual([]);
  expect(await values(["tag", "list", "-vq", "--verb"])).toEqual(["--verbose"]);
  expect(await values(["tag", "list", "-vq", "--qu"])).toEqual([]);
});

test("a flag that is sent has a --no- twin, a text may come from a file", async () => {
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
    ["list", "-o", "js"],
    ["json", "jsonl"],
  ],
  [["-o", "ya"], ["yaml"]],
  [
    ["list", "--color", ""],
    ["always", "never", "auto"],
  ],
  [["profile", "add", "x", "--format", "ya"], ["yaml"]],
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
])("%j leaves the place to the shell's files", async (words) => {
  expect(await answers(words)).toEqual([":files"]);
});

test("nothing is offered where anything may stand, and after a word that is no command", async () => {
  expect(await answers(["create", ""])).toEqual([]);
  expect(await answers(["list", "--jq", ""])).toEqual([]);
  expect(await answers(["nonsense", ""])).toEqual([]);
});

test("help completes topics and commands", async () => {
  expect(await values(["help", "exit"])).toEqual(["exit-codes"]);
  expect(await values(["help", "tag", "ren"])).toEqual(["rename"]);
});

test("profiles and the applications of the profile that is named", async () => {
  const folder = await temporaryFolder();
  const add = ["profile", "add", "work place", "--base-url", "http://127.0.0.1:9/v1"];
  for (const app of ["echo", "support"]) {
    const ran = await cli(["wf", ...add, "--app", app, "--key-file", "-"], {
      folder,
      stdin: "app-echo",
    });
    expect(ran.exit, ran.err).toBe(0);
  }
  expect(await answers(["-p", "wo"], { folder })).toEqual(["work place\thttp://127.0.0.1:9/v1"]);
  expect(await values(["profile", "use", ""], { folder })).toEqual(["work place", "sandbox"]);
  expect(await values(["-p", "work place", "--app", ""], { folder }, "wf")).toEqual([
    "echo",
    "support",
  ]);
});

/** A moment at which the clock stands still: whatever a machine is busy with, no time passes. */
const moment = new Date("2026-01-01T00:00:00Z");
const still = { now: () => moment };

const awkward = ["Team Handbook", `it's "5 $" & more`, "報告書 2024", "-dash", "name: x"];

/** A sandbox with things to name, asked at a standing clock. */
async function furnished() {
  const sandbox = await testSandbox();
  const folder = await temporaryFolder();
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
  // Of those made in one second, which comes first is the server's choice.
  const found = await values(["show", "Hand"], world);
  expect(found.toSorted()).toEqual(["Handbook", "Handbook 2"]);
  expect(await values(["doc", "show", "Handbook", ""], world)).toEqual(["welcome.md"]);
  expect(await values(["metadata", "delete", "Handbook", ""], world)).toEqual(["team"]);
  expect(await values(["tag", "bind", "Handbook", "name:Te"], world)).toEqual([
    "name:Team Handbook",
  ]);
  // What would be read as a flag or a prefix gets one.
  expect(new Set(await values(["tag", "delete", ""], world))).toEqual(
    new Set([...awkward.slice(0, 3), "name:-dash", "name:name: x"]),
  );
});

test("what a line names already is not offered again", async () => {
  const { world } = await furnished();
  const left = await values(["tag", "bind", "Handbook", "Team Handbook", ""], world);
  expect(left).toContain("報告書 2024");
  expect(left).not.toContain("Team Handbook");
});

test("names are kept for a minute, beside no key, and never for another key", async () => {
  const { world, seen, folder, sandbox } = await furnished();
  await answers(["tag", "rename", ""], world);
  await answers(["tag", "rename", "Te"], world);
  expect(seen).toHaveLength(1);

  const kept = readFileSync(join(folder, "cache", "names.json"), "utf8");
  expect(kept).toContain("Team Handbook");
  expect(kept).not.toContain("dataset-sandbox");

  const other = { ...world, env: { ...world.env, KB_KEY: "dataset-other" } };
  expect(await answers(["tag", "rename", ""], other)).toEqual([]);

  const later = { ...world, now: () => new Date(moment.getTime() + 60_000) };
  expect(await values(["tag", "rename", "Te"], later)).toEqual(["Team Handbook"]);
  expect(seen.map(({ headers }) => headers["authorization"])).toEqual([
    "Bearer dataset-sandbox",
    "Bearer dataset-other",
    "Bearer dataset-sandbox",
  ]);

  await sandbox.stop();
  expect(await values(["tag", "rename", "Te"], later)).toEqual(["Team Handbook"]);
});

test("a server that does not answer costs the patience of 300 ms and says nothing", async () => {
  const { world } = await furnished();
  const waits: number[] = [];
  // Each look at the clock finds it 200 ms further on.
  let ms = moment.getTime();
  const now = () => new Date((ms += 200));
  expect(await answers(["tag", "rename", ""], { ...world, now, waits })).toEqual([]);
  expect(waits[0]).toBe(300);
});

test.each([
  ["no server", { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "dataset-sandbox" }],
  ["no settings", {}],
  ["a wrong key", { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "app-echo" }],
  ["a wrong setting", { KB_BASE_URL: "nonsense", KB_KEY: "dataset-sandbox", KB_RETRIES: "x" }],
])("%s: nothing is offered and nothing is said", async (_, env) => {
  const folder = await temporaryFolder();
  expect(await answers(["tag", "rename", ""], { ...still, env, folder })).toEqual([]);
});

test("a command that prints the key is not run while a line is typed", async () => {
  const folder = await temporaryFolder();
  await cli(
    ["kb", "profile", "add", "w", "--base-url", "http://127.0.0.1:9", "--key-command", "pass"],
    { folder },
  );
  // Starting anything would fail the test: its Host has no programs.
  expect(await answers(["-p", "w", "tag", "rename", ""], { ...still, folder })).toEqual([]);
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

test("an unknown shell is refused by name", async () => {
  const ran = await cli(["kb", "completion", "tcsh"]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("tcsh");
});

/** How a shell is started and made to complete; each reads Ctrl-A as the way to the line's start. */
const interactive = {
  bash: { args: ["--norc", "--noprofile", "-i"], load: "source <(kb completion bash)" },
  zsh: {
    args: ["-i"],
    load: "autoload -U compinit; compinit -u -D; source <(kb completion zsh); bindkey -e",
  },
  fish: {
    args: ["--no-config", "-i"],
    load: "bind \\t complete; bind \\ca beginning-of-line; kb completion fish | source",
  },
} as const;

const installed = (shell: string) => spawnSync("sh", ["-c", `command -v ${shell}`]).status === 0;

/** A shell in a terminal of its own, with the programs as they were built. */
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
    /** The words of a line as the shell reads them, after these keys were typed. */
    async words(keys: string): Promise<string[]> {
      shown = "";
      terminal.write(`${keys} .\u0001printf '<%s>\\n' \r`);
      await until(/<\.>\r?\n/);
      return [...shown.matchAll(/<([^%\n]*)>\r?\n/g)].map(([, word = ""]) => word).slice(0, -1);
    },
    close: () => terminal.kill(),
  };
}

const typed: Readonly<Record<string, readonly string[]>> = {
  // The next word begins at once: a blank was added.
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
  "kb --ca-file my\t": ["kb", "--ca-file", "my file.pem"],
  "kb --ca-file=my\t": ["kb", "--ca-file=my file.pem"],
};

/** Types every line in a shell and compares the words that came of it. */
async function typeAll(shell: keyof typeof interactive) {
  const { world, env: server, folder, ...rest } = await furnished();
  for (const name of ["$(exit)`exit`", "a:b=c@d"]) await rest.cli(["kb", "tag", "create", name]);
  await writeFile(join(folder, "my file.pem"), "");
  // Read once at a standing clock, so that no shell waits for a busy machine.
  const now = new Date();
  const warm = { ...world, now: () => now };
  expect(await values(["tag", "rename", "a"], warm)).toEqual(["a:b=c@d"]);
  expect(await values(["doc", "show", "Handbook", ""], warm)).toEqual(["welcome.md"]);

  const env = { ...server, KB_CACHE_DIR: join(folder, "cache") };
  const opened = await openShell(shell, env, folder);
  const found: Record<string, readonly string[]> = {};
  for (const keys of Object.keys(typed)) found[keys] = await opened.words(keys);
  opened.close();
  expect(found).toEqual(typed);
}

test("bash completes words, names and files, quoted as they must be", () => typeAll("bash"));
test.runIf(installed("zsh"))("zsh does", () => typeAll("zsh"));
test.runIf(installed("fish"))("fish does", () => typeAll("fish"));
