import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { commandOnPty, onPty } from "../lib/pty.ts";
import { sampled } from "../lib/sampled.ts";
import { bin } from "../lib/shell.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const home = await temporaryDirectory();
const server = await testSandbox({ speed: 1 });
const env = { ...server.env, HOME: home };
const [ctrlC, ctrlD, backspace] = ["\u0003", "\u0004", "\u007f"];

await server.cli(["kb", "create", "Kept", "--indexing-technique", "economy"]);
server.sandbox.setFaults([parseFault("GET /datasets/*/tags delay=900ms")]);

describe("the confirmation of a deletion", () => {
  const question =
    /^Delete knowledge base Kept: no documents\? This cannot be undone\. \[y\/N, b to/m;
  const isThere = async () => (await server.cli(["kb", "show", "Kept"])).exit === 0;

  const refusals = [
    ["y, taken back", `y${backspace}\r`, 2, "nothing was deleted"],
    ["no", "no\r", 2, "nothing was deleted"],
    ["Ctrl-C after yes", `yes${ctrlC}`, 130, "error: interrupted"],
    ["Ctrl-C", ctrlC, 130, "error: interrupted"],
    ["Ctrl-D", ctrlD, 130, "error: interrupted"],
  ] as const;

  test.concurrent.each(sampled(3, refusals))(
    "%s: nothing is deleted",
    async (_, typed, exit, said) => {
      const run = onPty("kb", ["delete", "Kept"], env);
      await run.shows(question);
      run.type(typed);
      expect(await run.exit).toBe(exit);
      expect((await run.lines()).at(-1)).toContain(said);
      expect(await isThere()).toBe(true);
    },
  );

  test("y: it is deleted", async () => {
    await server.done(["kb", "create", "Goes", "--indexing-technique", "economy"]);
    const run = onPty("kb", ["delete", "Goes"], env);
    await run.shows(/^Delete knowledge base Goes: no documents\? .* \[y\/N, b to/m);
    run.type("y\r");
    expect(await run.exit).toBe(0);
    expect((await server.cli(["kb", "show", "Goes"])).exit).toBe(3);
  });

  test.each([
    ["", false],
    ["sure", false],
    ["YES", true],
    [" yes ", true],
  ])("the answer %j deletes it: %s", async (answer, deletes) => {
    await server.done([
      "kb",
      "create",
      "Asked",
      "--if-not-exists",
      "--indexing-technique",
      "economy",
    ]);
    const ran = await server.cli(["kb", "delete", "Asked"], { tty: true, answers: [answer] });
    expect(ran.exit).toBe(deletes ? 0 : 2);
    expect((await server.cli(["kb", "show", "Asked"])).exit).toBe(deletes ? 3 : 0);
  });

  test("with --no-input there is no prompt", async () => {
    const ran = await server.cli(["kb", "delete", "Kept", "--no-input"], { tty: true });
    expect(ran.exit).toBe(2);
    expect(ran.err).toMatch(
      /\nhint: pass --yes to skip the prompt, and --backup so that it can be undone\n$/,
    );
  });
});

describe("the prompt for a key", () => {
  const line = ["login", "mine", "--base-url", "http://127.0.0.1:1/v1", "--no-check"];
  const add = async (folder: string) => {
    const config = join(home, folder);
    await mkdir(config);
    // `stty` prints whether echo is restored.
    const words = [process.execPath, bin("wf"), ...line].map((word) => `'${word}'`).join(" ");
    const run = commandOnPty("sh", ["-c", `${words}; echo "exit $?"; stty -a`], {
      ...env,
      KB_CONFIG_DIR: config,
    });
    await run.shows(/Application key \(app-… or sk-…, hidden\):/);
    return { run, file: join(config, "profiles.json") };
  };
  const whole = "app-Secret0123456789";

  const typings = [
    ["mended", ["app-Secrex", backspace, "t0123456789"]],
    ["typed", [...whole]],
    ["pasted in brackets", [`\u001b[200~${whole}\u001b[201~`]],
    ["pasted", [whole]],
  ] as const;

  test.concurrent.each(sampled(3, typings))(
    "%s: the key is stored and not displayed",
    async (folder, pieces) => {
      const { run, file } = await add(folder);
      for (const piece of pieces) run.type(piece);
      run.type("\r");
      await run.shows(/[ -]echo echoe/);
      expect(run.written()).toContain("exit 0");
      expect(run.written().replaceAll("****6789", "")).not.toMatch(/Secr|0123|6789/);
      expect(run.written()).toMatch(/[^-]echo\b/);
      expect(await readFile(file, "utf8")).toContain(`"${whole}"`);
    },
  );

  test("Ctrl-C: nothing is stored or displayed, and echo is restored", async () => {
    const { run, file } = await add("left");
    run.type("app-Secret");
    run.type(ctrlC);
    await run.shows(/[ -]echo echoe/);
    expect(run.written()).toContain("exit 130");
    expect(run.written()).not.toContain("Secr");
    expect(run.written()).toMatch(/[^-]echo\b/);
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });
});

describe("progress", () => {
  const slow = ["tag", "list", "-o", "name"];
  const spinner = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏-]/;

  test("a spinner appears and is removed", async () => {
    server.sandbox.setFaults([parseFault("GET /datasets/tags delay=900ms")]);
    const run = onPty("kb", slow, env);
    expect(await run.exit).toBe(0);
    expect(run.written()).toMatch(/⠋|⠙|⠹|⠸/); // not on the screen: a busy reader would miss it
    expect(await run.lines()).toEqual(["no tags"]);
  });

  test("a spinner is gone before the reader of a pipe prints to the same terminal", async () => {
    await server.cli(["kb", "tag", "create", "draft"]);
    server.sandbox.setFaults([parseFault("GET /datasets/tags delay=900ms")]);
    const line = `"$0" "$1" tag list -o tsv --columns name --no-headers | cat`;
    const run = commandOnPty("sh", ["-c", line, process.execPath, bin("kb")], env);
    expect(await run.exit).toBe(0);
    expect(run.written()).toMatch(/⠋|⠙|⠹|⠸/); // not on the screen: a busy reader would miss it
    expect(await run.lines()).toEqual(["draft"]);
    await server.cli(["kb", "tag", "delete", "draft", "--yes"]);
  });

  test.concurrent.each([
    ["TERM=dumb", { TERM: "dumb" }, []],
    ["KB_ACCESSIBLE", { KB_ACCESSIBLE: "1" }, []],
    ["-q", {}, ["-q"]],
  ])("%s: no spinner", async (_, more, flags) => {
    const run = onPty("kb", [...slow, ...flags], { ...env, ...more });
    expect(await run.exit).toBe(0);
    expect(run.written()).not.toMatch(spinner);
    expect(run.written()).not.toContain("\u001b");
  });

  test.each([
    ["LC_ALL=C", { LC_ALL: "C" }],
    ["a Linux console", { TERM: "linux" }],
  ])("%s: the spinner is ASCII", async (_, more) => {
    server.sandbox.setFaults([parseFault("GET /datasets/tags delay=900ms")]);
    const run = onPty("kb", slow, { ...env, ...more });
    expect(await run.exit).toBe(0);
    expect(stripVTControlCharacters(run.written())).toMatch(/[-\\|/] Listing tags/);
    expect(run.written()).not.toMatch(/[^\p{ASCII}]/u);
  });

  test.concurrent.each([
    ["", {}, [], true],
    ["NO_COLOR", { NO_COLOR: "1" }, [], false],
    ["--color never", {}, ["--color", "never"], false],
  ])("its color: %s", async (_, more, flags, colored) => {
    const run = onPty("kb", [...slow, ...flags], { ...env, ...more });
    expect(await run.exit).toBe(0);
    expect(run.written().includes("\u001b[36m")).toBe(colored);
  });
});
