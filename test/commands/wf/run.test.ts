import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory, type World } from "../../lib/support.ts";

const server = await testSandbox({ speed: 20 });
const home = await temporaryDirectory();
beforeEach(() => server.sandbox.setFaults([]));

const file = async (name: string, text: string): Promise<string> => {
  const path = join(home, name);
  await writeFile(path, text);
  return path;
};
const doc = await file("doc.txt", "text");
const image = await file("photo.png", "pixels");

const wf = (app: string, argv: readonly string[], world: World = {}) =>
  server.cli(["wf", "--app", app, ...argv], { folder: home, ...world });
/** Runs the app whose form has a field of every type. */
const inputs = (...argv: readonly string[]) =>
  server.cli(["wf", "run", ...argv], {
    folder: home,
    env: { KB_PROFILE: "", KB_APP_KEY: "app-inputs" },
  });
const needed = ["--input", "name=A", "--input", "kind=a"];

const sent = (path: RegExp) =>
  server.seen.filter((each) => each.method === "POST" && path.test(each.path));
const lastRun = () =>
  JSON.parse(new TextDecoder().decode(sent(/workflows\/run$/).at(-1)?.body)) as {
    inputs: Record<string, unknown>;
  };

describe("inputs are parsed by the form of the app", () => {
  test("numbers, choices and booleans", async () => {
    const ran = await inputs(...needed, "--input", "count=3", "--input", "flag=true", "--detach");
    expect(ran.exit, ran.err).toBe(0);
    expect(lastRun().inputs).toEqual({ name: "A", kind: "a", count: 3, flag: true });
  });

  test("from stdin", async () => {
    const ran = await server.cli(["wf", "run", "--inputs", "-", "--only-output", "query"], {
      stdin: '{"query": "from a pipe"}',
    });
    expect(ran).toMatchObject({ exit: 0, out: "from a pipe\n" });
  });

  test("uploads files first and sends their IDs", async () => {
    const before = sent(/files\/upload/).length;
    const ran = await inputs(
      ...needed,
      "--input",
      `doc=@${doc}`,
      "--input",
      `docs=@${doc}`,
      "--input",
      `docs=@${doc}`,
    );
    expect(ran.exit, ran.err).toBe(0);
    expect(sent(/files\/upload/).length - before).toBe(3);
    const { doc: one, docs } = lastRun().inputs;
    const uploaded = {
      type: "document",
      transfer_method: "local_file",
      upload_file_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    };
    expect([one, docs]).toEqual([uploaded, [uploaded, uploaded]]);
  });

  test.each<[string, readonly string[], string]>([
    ["an unknown input", ["nmae=A"], 'input "nmae" not found'],
    ["a wrong choice", ["kind=c"], 'input kind: "c" is not one of a, b'],
    ["not a number", ["count=many"], 'input count: "many" is not a number'],
    ["not a boolean", ["flag=yes"], 'input flag: "yes" is not true or false'],
    ["a text that is too long", [`name=${"x".repeat(21)}`], "21 characters (maximum 20)"],
    ["a file type that is not accepted", [`doc=@${image}`], "accepts document; "],
    ["a file that does not exist", ["doc=@nowhere.txt"], "nowhere.txt not found"],
    ["too many files", Array.from({ length: 4 }, () => `docs=@${doc}`), "4 files (maximum 3)"],
    [
      "a URL where files must be uploaded",
      ["docs=https://example.com/a.txt"],
      "only by local_file",
    ],
    ["an invalid URL", ["doc=https://"], 'input doc: "https://" is not a valid URL'],
    ["a file that is neither a path nor JSON", ["doc=plain.txt"], "input doc: invalid JSON"],
  ])("%s exits with 2 before anything is sent", async (_, assignments, message) => {
    const before = server.seen.filter(({ method }) => method !== "GET").length;
    const others = ["name=A", "kind=a"].filter(
      (each) => each.split("=")[0] !== assignments[0]?.split("=")[0],
    );
    const ran = await inputs(...[...others, ...assignments].flatMap((each) => ["--input", each]));
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
    expect(server.seen.filter(({ method }) => method !== "GET").length).toBe(before);
  });

  test("missing inputs are named together, with values that they accept", async () => {
    const [one, both] = [await inputs("--input", "name=A"), await inputs()];
    expect([one.exit, both.exit]).toEqual([2, 2]);
    expect(one.err).toBe('error: input "kind" is required\nhint: add --input kind=a\n');
    expect(both.err).toBe(
      'error: inputs "name" and "kind" are required\nhint: add --input name=… --input kind=a\n',
    );
  });

  test("an unknown field of a condition lists fields, and words that begin sentences", async () => {
    const { exit, err } = await wf("echo", ["run", "query=x", "--expect", "nothing<3"]);
    expect(exit).toBe(2);
    expect(err).toContain(
      "hint: valid fields: status, elapsed, tokens, steps, text, error; " +
        "sentences begin with run, node, output, cited, no\n",
    );
  });

  test("an input with two values starts no run", async () => {
    const before = server.seen.length;
    const { exit, err } = await wf("echo", ["run", "query=x", "--input", "query=y"]);
    expect(exit).toBe(2);
    expect(err).toBe(
      'error: input "query" has different values\nhint: query=VALUE and --input query=VALUE are the same; give it once\n',
    );
    expect(server.seen.slice(before).filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("the key of another type of app exits with 6", async () => {
    const ran = await wf("chat", ["run", "--input", "query=x"]);
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain("wf chat send");
  });
});

test("an upload that fails starts no run", async () => {
  server.sandbox.setFaults([parseFault("POST /files/upload status=503")]);
  const before = sent(/workflows\/run$/).length;
  const ran = await inputs(...needed, "--input", `doc=@${doc}`, "--retries", "0");
  expect(ran.exit).toBe(1);
  expect(sent(/workflows\/run$/).length).toBe(before);
});

describe("output", () => {
  test("--only-output prints a string unchanged", async () => {
    const ran = await wf("echo", ["run", "--input", "query=a\nb", "--only-output", "query"]);
    expect(ran).toMatchObject({ exit: 0, out: "a\nb\n" });
  });

  test("an unknown output exits with 3 and lists the outputs", async () => {
    const ran = await wf("echo", ["run", "--input", "query=x", "--only-output", "answer"]);
    expect(ran.exit).toBe(3);
    expect(ran.err).toContain("hint: outputs: query");
  });

  test.each([
    ["broken", "nope", 9],
    ["review", "result", 8],
  ])(
    "the outcome of the run takes precedence over a missing output: %s",
    async (app, name, exit) => {
      const ran = await wf(app, ["run", "--input", "query=x", "--only-output", name]);
      expect(ran).toMatchObject({ exit, out: "" });
      expect(ran.err).not.toContain("not found");
    },
  );

  test.each([
    ["broken", "run failed", 0, 0],
    ["broken", "output nope exists", 14, 2], // and that it failed
    ["echo", 'output query is "x"', 3, 0],
  ])("expectations are checked without the output: %s", async (app, said, exit, failed) => {
    const junit = join(home, `only-${exit}.xml`);
    const flags = ["--only-output", "nope", "--expect", said, "--junit", junit];
    const ran = await wf(app, ["run", "--input", "query=x", ...flags]);
    expect(ran.exit, ran.err).toBe(exit);
    expect(ran.out).toBe("");
    if (exit === 0) expect(ran.err).toMatch(/output "nope" of run \S+ not found/);
    expect((await readFile(junit, "utf8")).split("<failure").length - 1).toBe(failed);
  });

  test("the JUnit file reports a record that cannot be read", async () => {
    server.sandbox.setFaults([parseFault("GET /workflows/run/* status=403")]);
    const junit = join(home, "unread.xml");
    const flags = ["--expect", "run succeeded", "--junit", junit, "-o", "json"];
    const ran = await wf("echo", ["run", "--input", "query=x", ...flags]);
    expect(ran.exit, ran.err).toBe(4);
    expect(await readFile(junit, "utf8")).toContain("not checked: failed to");
    expect(ran.err).toContain("the expectations were not checked");
  });

  test("--text prints the text only, even if the connection is lost", async () => {
    server.sandbox.setFaults([parseFault("POST /workflows/run cut-after=3 times=1")]);
    const ran = await wf("slow", ["run", "--input", "query=x", "--input", "seconds=2", "--text"]);
    expect(ran).toMatchObject({ exit: 0, out: "slow body\n" });
  });

  test.each([
    [["--text", "--blocking"], "--blocking and --text"],
    [["--only-output", "a", "--detach"], "--detach and --only-output"],
    [["--text", "-o", "json"], "--text prints text"],
    [["--answer", "x.json", "--detach"], "--answer cannot be used with --detach"],
  ])("%j cannot be used together", async (flags, message) => {
    const ran = await wf("echo", ["run", "--input", "query=x", ...flags]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
  });
});

describe("--answer", () => {
  const approve = file("approve.json", '{"action": "approve", "inputs": {"comment": "fine"}}');
  const other = file("other.json", '{"node": "Somebody else", "action": "approve", "inputs": {}}');

  test("follows the run through its pause to the end", async () => {
    const ran = await wf("review", [
      "run",
      "--input",
      "query=x",
      "--answer",
      await approve,
      "-o",
      "jsonl",
    ]);
    expect(ran.exit, ran.err).toBe(0);
    const kinds = [...ran.out.matchAll(/"event": ?"((workflow|human)_\w+)"/g)].map(
      ([, kind]) => kind,
    );
    expect(kinds).toEqual([
      "workflow_started",
      "human_input_required",
      "workflow_paused",
      "workflow_started",
      "human_input_form_filled",
      "workflow_finished",
    ]);
    expect(ran.out).not.toContain("_gap");
  });

  test("leaves the form of another node open, and the run paused", async () => {
    const before = sent(/human_input/).length;
    const ran = await wf("review", ["run", "--input", "query=x", "--answer", await other]);
    expect(ran.exit).toBe(8);
    expect(ran.err).toContain("wf form submit");
    expect(sent(/human_input/).length).toBe(before);
  });

  test.each([
    ["no.json", "", ": invalid JSON"],
    ["list.json", "[]", ": not a JSON object"],
    ["none.json", "{}", ": action is missing"],
    ["more.json", '{"action": "a", "reason": "b"}', 'unknown field "reason"'],
  ])("%s is rejected before the run starts", async (name, text, message) => {
    const before = sent(/workflows\/run$/).length;
    const ran = await wf("review", [
      "run",
      "--input",
      "query=x",
      "--answer",
      await file(name, text),
    ]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
    expect(sent(/workflows\/run$/).length).toBe(before);
  });
});

describe("one run per row", () => {
  test("prints results in the order of the rows", async () => {
    const path = await file("q.csv", "query\na\nb\nc\nd\n");
    const ran = await wf("echo", ["run", "--each", path, "-o", "jsonl"]);
    expect(ran.exit, ran.err).toBe(0);
    const rows = ran.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(rows).toMatchObject(
      ["a", "b", "c", "d"].map((query, index) => ({
        row: index + 1,
        status: "succeeded",
        outputs: { query },
        error: null,
      })),
    );
  });

  test("an invalid row stops it before the first run", async () => {
    const path = await file("q.jsonl", '{"query":"a","seconds":1}\n{"query":"b","seconds":"x"}\n');
    const before = sent(/workflows\/run$/).length;
    const ran = await wf("slow", ["run", "--each", path]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain('row 2 (line 2): input seconds: "x" is not a number');
    expect(sent(/workflows\/run$/).length).toBe(before);
  });

  test("collects the rows of failed runs and exits with 10", async () => {
    const path = await file("q.csv", "query\na\nb\n");
    const errors = join(home, "errors.csv");
    const ran = await wf("broken", ["run", "--each", path, "--errors-to", errors]);
    expect(ran.exit).toBe(10);
    expect(ran.err).toContain("0 of 2 rows done, 2 failed");
    const again = await wf("echo", ["run", "--each", errors, "-o", "name"]);
    expect(again.out.trim().split("\n")).toHaveLength(2);
  });

  test("a start whose response was lost is unknown and is not retried", async () => {
    server.sandbox.setFaults([parseFault("POST /workflows/run cut-bytes=5 times=1")]);
    const path = await file("q.csv", "query\na\n");
    const before = sent(/workflows\/run$/).length;
    const ran = await wf("echo", ["run", "--each", path, "-o", "jsonl"]);
    expect(ran.exit).toBe(10);
    expect(JSON.parse(ran.out)).toMatchObject({ row: 1, status: "unknown", run: null });
    expect(sent(/workflows\/run$/).length - before).toBe(1);
  });
});

describe("wait", () => {
  const started = async (app: string, ...more: readonly string[]) => {
    const ran = await wf(app, ["run", "--input", "query=x", ...more, "--detach", "-o", "name"]);
    expect(ran.exit, ran.err).toBe(0);
    return ran.out.trim();
  };

  test.each([
    ["slow", ["--input", "seconds=2"], 0, "succeeded"],
    ["broken", [], 9, "failed"],
    ["review", [], 8, "paused"],
  ])("%s exits with the outcome of the run", async (app, more, exit, status) => {
    const run = await started(app, ...more);
    const ran = await wf(app, ["wait", run, "-o", "json"]);
    expect(ran.exit, ran.err).toBe(exit);
    expect(JSON.parse(ran.out)).toMatchObject({ id: run, status });
  });

  test.each([503, 429])("tolerates status %i for a while", async (status) => {
    const run = await started("slow", "--input", "seconds=1");
    server.sandbox.setFaults([parseFault(`GET /workflows/run/* status=${status} times=6`)]);
    const ran = await wf("slow", ["wait", run, "--retries", "0"]);
    expect(ran.exit, ran.err).toBe(0);
  });

  test("gives up when the server stays unavailable", async () => {
    const run = await started("slow", "--input", "seconds=1");
    server.sandbox.setFaults([parseFault("GET /workflows/run/* status=503")]);
    const ran = await wf("slow", ["wait", run, "--retries", "0"]);
    expect(ran.exit).toBe(1);
    expect(ran.err.match(/; retrying/g)).toHaveLength(9);
  });

  test("exits with 12 at its deadline and shows how to resume", async () => {
    const run = await started("slow", "--input", "seconds=600");
    const ran = await wf("slow", ["wait", run, "--timeout", "0.2s"]);
    expect(ran.exit).toBe(12);
    expect(ran.err).toContain(`run \`wf wait ${run} --app slow\` to wait again`);
  });
});

describe("stop", () => {
  test("accepts the ID of a run started on this machine, and verifies the stop", async () => {
    const folder = await temporaryDirectory();
    const argv = ["run", "--input", "query=x", "--input", "seconds=60", "--detach", "-o", "name"];
    const run = (await wf("slow", argv, { folder })).out.trim();
    const ran = await wf("slow", ["stop", run, "-o", "json"], { folder });
    expect(ran.exit, ran.err).toBe(0);
    expect(JSON.parse(ran.out)).toEqual({ result: "stopped", verified: true, status: "stopped" });
  });

  test("rejects the ID of an unknown run, which would stop nothing", async () => {
    const argv = ["run", "--input", "query=x", "--input", "seconds=60", "--detach", "-o", "name"];
    const run = (await wf("slow", argv)).out.trim();
    const before = sent(/stop$/).length;
    const ran = await wf("slow", ["stop", run], { folder: await temporaryDirectory() });
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`run \`wf events ${run} --app slow\` to see and save its task_id`);
    expect(sent(/stop$/).length).toBe(before);
  });
});

describe("forms", () => {
  const token = async () => {
    const ran = await wf("review", ["run", "--input", "query=x", "-o", "jsonl"]);
    return /"form_token": ?"(\w+)"/.exec(ran.out)?.[1] ?? "";
  };

  test("lists the actions if --action is missing", async () => {
    const ran = await wf("review", ["form", "submit", await token()]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("actions: approve, reject");
  });

  test("an unknown action or input is rejected before anything is sent", async () => {
    const form = await token();
    const before = sent(/human_input/).length;
    for (const flags of [
      ["--action", "agree"],
      ["--action", "approve", "--input", "commnet=x"],
    ]) {
      expect((await wf("review", ["form", "submit", form, ...flags])).exit).toBe(2);
    }
    expect(sent(/human_input/).length).toBe(before);
  });

  test("detects that the form was submitted although the response was lost", async () => {
    const form = await token();
    server.sandbox.setFaults([parseFault("POST /form/human_input/* cut-bytes=0 times=1")]);
    const ran = await wf("review", [
      "form",
      "submit",
      form,
      "--action",
      "approve",
      "--input",
      "comment=x",
    ]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain("the response was lost, but the form was submitted");
    expect((await wf("review", ["form", "show", form])).exit).toBe(5);
  });
});
