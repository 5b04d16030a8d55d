import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox({ speed: 20 });
const folder = await temporaryDirectory();
const doc = join(folder, "doc.txt");
await writeFile(doc, "text");

beforeEach(() => void server.seen.splice(0));

/** The bodies of the runs that were started. */
const started = () =>
  server.seen
    .filter(({ method, path }) => method === "POST" && /workflows\/(\S+\/)?run$/.test(path))
    .map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>);
const inApp = (app: string, words: readonly string[], world: World = {}) =>
  server.cli(["wf", "--app", app, ...words], { folder, ...world });

/** Starts a run of an application; returns its ID. */
async function ranOnce(app: string, ...flags: readonly string[]): Promise<string> {
  const { exit, err } = await inApp(app, ["run", "-q", ...flags]);
  expect(exit, err).toBe(0);
  const { out } = await inApp(app, ["show", "last", "--jq", ".id"]);
  server.seen.splice(0);
  return out.trim();
}

describe("wf retry", () => {
  test("sends the inputs of a run again, those of --input instead of its own", async () => {
    const id = await ranOnce(
      "inputs",
      "--inputs",
      '{"name":"Ann","kind":"b","count":2,"flag":true}',
    );
    const same = await inApp("inputs", ["retry", id.slice(0, 8), "--yes", "--only-output", "name"]);
    expect([same.exit, same.out]).toEqual([0, "Ann\n"]);
    await inApp("inputs", ["retry", id, "--yes", "--input", "kind=a", "-q"]);
    expect(started().map(({ inputs }) => inputs)).toEqual([
      { name: "Ann", kind: "b", count: 2, flag: true },
      { name: "Ann", kind: "a", count: 2, flag: true },
    ]);
  });

  test("asks first on a terminal, and sends nothing without a yes", async () => {
    const id = await ranOnce("echo", "query=good day");
    const questions: string[] = [];
    const world = { tty: true, questions };
    const no = await inApp("echo", ["retry", id], { ...world, answers: ["n"] });
    expect([no.exit, no.err]).toEqual([2, "nothing was sent\n"]);
    const yes = await inApp("echo", ["retry", id], { ...world, answers: ["y"] });
    expect(yes.exit, yes.err).toBe(0);
    expect(questions).toEqual(Array(2).fill("Run the workflow again with query=good day? [y/N] "));
    const script = await inApp("echo", ["retry", id]);
    expect(script.exit).toBe(2);
    expect(script.err).toContain("hint: pass --yes to skip the prompt\n");
    expect(started()).toHaveLength(1);
  });

  test("sends uploaded files again, and URLs, as the end user who uploaded them", async () => {
    const url = "https://example.com/a.txt";
    const id = await ranOnce("inputs", "name=A", "kind=a", `doc=${url}`, `docs=@${doc}`);
    const again = await inApp("inputs", ["retry", id, "--yes", "-q"]);
    expect(again.exit, again.err).toBe(0);
    const file = {
      type: "document",
      transfer_method: "local_file",
      upload_file_id: expect.any(String),
    };
    const remote = { type: "document", transfer_method: "remote_url", url };
    expect(started()[0]?.["inputs"]).toMatchObject({ doc: remote, docs: [file] });

    const other = await inApp("inputs", ["retry", id, "--yes", "--user", "ann"]);
    expect(other.exit).toBe(2);
    expect(other.err).toContain(
      "error: input docs cannot be sent again: its file belongs to kb-wf, who uploaded it\n",
    );
    const replaced = ["retry", id, "--yes", "-q", "--user", "ann", "--input", `docs=@${doc}`];
    expect((await inApp("inputs", replaced)).exit).toBe(0);
    expect(started()).toHaveLength(2);
  });

  test("says which value is masked, before anything is sent", async () => {
    const id = await ranOnce("echo", "query=*****");
    const { exit, err } = await inApp("echo", ["retry", id, "--yes"]);
    expect([exit, err]).toEqual([
      2,
      "error: input query cannot be sent again: its value is masked\n" +
        `hint: replace it: \`wf retry ${id} --input 'query=…' --app echo\`\n`,
    ]);
    expect(started()).toEqual([]);
  });

  test("leads from the reply of a chat to its message", async () => {
    await inApp("convo", ["chat", "send", "good day", "-q"]);
    const { exit, err } = await inApp("convo", ["retry", "last", "--yes"]);
    expect(exit).toBe(6);
    expect(err).toMatch(/^error: run \S+ is a reply of a chat, which a run cannot repeat\n/);
    expect(err).toContain("hint: send its message again: `wf chat send 'good day' --app convo`\n");
  });

  test("prints the request with --dry-run and asks nothing", async () => {
    const id = await ranOnce("echo", "query=a");
    const { exit, out } = await inApp("echo", ["retry", id, "-n"]);
    expect([exit, out.split("\n\n")[1]]).toEqual([
      0,
      '{"inputs":{"query":"a"},"user":"kb-wf","response_mode":"streaming"}\n',
    ]);
    expect(started()).toEqual([]);
  });

  test("is what wf show names for a run that failed, on a terminal", async () => {
    await inApp("broken", ["run", "query=x", "-q"]);
    const { err } = await inApp("broken", ["show", "last"], { tty: true });
    expect(err).toMatch(/^run it again: `wf retry \S{36} --app broken`$/m);
  });
});

describe("last", () => {
  test.each<[string, readonly string[]]>([
    ["show", ["--jq", ".id"]],
    ["wait", ["--jq", ".id"]],
    ["events", ["--jq", ".workflow_run_id", "-q"]],
  ])("is the newest run for wf %s", async (word, flags) => {
    await ranOnce("echo", "query=before");
    const id = await ranOnce("echo", "query=now");
    const { exit, out, err } = await inApp("echo", [word, "last", ...flags]);
    expect([exit, out], err).toEqual([0, `${id}\n`]);
  });

  test("is the newest running one for wf stop", async () => {
    const detached = await inApp("slow", [
      "run",
      "query=x",
      "seconds=3600", // still running, however slow the machine is
      "--detach",
      "--jq",
      ".workflow_run_id",
    ]);
    await ranOnce("echo", "query=x");
    const { exit, out } = await inApp("slow", ["stop", "last"]);
    expect([exit, out]).toEqual([0, expect.stringContaining("stopped")]);
    const shown = await inApp("slow", ["show", "last", "--jq", ".id, .status"]);
    expect(shown.out).toBe(`${detached.out.trim()}\nstopped\n`);
    const none = await inApp("slow", ["stop", "last"]);
    expect([none.exit, none.err.split("\n")[0]]).toEqual([
      3,
      "error: the application has no running run",
    ]);
  });

  test("is the newest recording for wf timeline", async () => {
    const file = join(folder, "run.jsonl");
    const id = await ranOnce("tolerant", "query=x", "--record", file);
    await ranOnce("tolerant", "query=x");
    const { exit, out } = await inApp("tolerant", ["timeline", "last", "--jq", ".run"]);
    expect([exit, out]).toEqual([0, `${id}\n`]);
  });

  test("is a run of this application where there is no log", async () => {
    await inApp("convo", ["chat", "send", "first", "-q"]);
    await ranOnce("echo", "query=x");
    const { out } = await inApp("convo", [
      "show",
      "last",
      "--jq",
      '.inputs | fromjson | .["sys.query"]',
    ]);
    expect(out).toBe("first\n");
  });
});

describe("without a run", () => {
  test("a terminal asks: newest first, with time, status and first input", async () => {
    const older = await ranOnce("flaky", "query=older");
    await ranOnce("flaky", "query=newer");
    const questions: string[] = [];
    const ran = await inApp("flaky", ["show", "--jq", ".id"], {
      tty: true,
      answers: ["", "2"],
      questions,
    });
    expect([ran.exit, ran.out]).toEqual([0, `${older}\n`]);
    expect(questions).toEqual(["Run (1-2): ", "Run (1-2): "]);
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d UTC`;
    expect(ran.err).toMatch(
      new RegExp(
        `^The newest runs:\n  1  ${time}  partial-succeeded  .{8}  query=newer\n` +
          `  2  ${time}  partial-succeeded  ${older.slice(0, 8)}  query=older\n` +
          "choose one: type a number from 1 to 2, or a name\n",
      ),
    );
  });

  test("several are a list", async () => {
    const id = await ranOnce("echo", "query=x");
    const world = { tty: true, answers: ["1"] };
    const { exit, out, err } = await inApp("echo", ["events", "-o", "jsonl", "-q"], world);
    expect([exit, out], err).toEqual([0, expect.stringContaining(id)]);
  });

  test.each(["show", "wait", "events", "stop", "timeline", "retry"])(
    "wf %s says in a pipe what last is",
    async (word) => {
      const { exit, err } = await server.cli(["wf", word]);
      expect([exit, err]).toEqual([
        2,
        expect.stringMatching(
          new RegExp(
            `^error: which run\\? <run> is missing\nhint: \`wf ${word} last\` takes the newest r`,
          ),
        ),
      ]);
    },
  );
});
