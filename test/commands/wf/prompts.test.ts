import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  eventsText,
  inTurn,
  json,
  pinging,
  recorded,
  runServer,
  streaming,
} from "../../lib/run-server.ts";
import { fastClock } from "../../lib/fast-clock.ts";
import type { Route } from "../../lib/run-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox({ speed: 20 });
const home = await temporaryDirectory();
const doc = join(home, "doc.txt");
await writeFile(doc, "text");

/** Runs a command on a terminal that replies to its prompts; returns the prompts as well. */
async function replying(argv: readonly string[], answers: readonly string[], world: World = {}) {
  const questions: string[] = [];
  const ran = await server.cli(["wf", ...argv], {
    folder: home,
    tty: true,
    answers,
    questions,
    ...world,
  });
  return { ...ran, questions };
}

/** The words of the first command in backticks that starts with these. */
function commandIn(text: string, start: string): string[] {
  const line = text.split("`").find((each) => each.startsWith(start)) ?? "";
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

const sent = (path: RegExp) =>
  server.seen.filter(({ method, path: each }) => method === "POST" && path.test(each));
const bodyOf = ({ body }: { readonly body: Uint8Array }) =>
  JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>; // as it was sent
const lastBody = (path: RegExp) => {
  const last = sent(path).at(-1);
  return last && bodyOf(last);
};

/** The environment of one application, so that commands need no --app. */
const app = (name: string) => ({
  env: { KB_PROFILE: "", KB_APP_KEY: `app-${name}`, NO_COLOR: "1" },
});

describe("missing required inputs", () => {
  test("are not asked for if an input of the command line is wrong", async () => {
    const ran = await replying(["run", "nonsense"], ["Ann"], app("inputs"));
    expect([ran.exit, ran.questions]).toEqual([2, []]);
    expect(ran.err).toBe(
      'error: --input "nonsense": expected name=value\n' +
        "hint: use --input name=nonsense; inputs: name, text, kind, count, flag, doc,\n    docs\n",
    );
    const echo = await server.cli(["wf", "run", "good day"]);
    expect(echo.err).toContain("hint: use --input 'query=good day'");
    const list = await server.cli(["wf", "run", "list"]);
    expect(list.err).toContain("hint: did you mean `wf logs`?");
    const two = await server.cli(["wf", "run", "good", "day"]);
    expect(two.err).toContain("hint: use --input 'query=good day'");
    const named = await server.cli(["wf", "run", "-i", "query"]);
    expect(named.err).toContain("hint: use --input query=VALUE");
    const other = await server.cli(["wf", "run", "slow", "-i", "query=x"]);
    expect(other.err).toContain(
      "hint: applications are named by --app: `wf --app slow run query=x`; inputs: query",
    );
    const full = await server.cli(["wf", "run", "query=good", "day"]);
    expect(full.err).toContain("hint: quote values with spaces: --input 'query=good day'");
    const json = await server.cli(["wf", "run", '{"query":"x"}']);
    expect(json.err).toContain('hint: all inputs as JSON: --inputs \'{"query":"x"}\'');
  });

  test("are asked for, a wrong reply again, and the same command is printed", async () => {
    const ran = await replying(["run"], ["", "Ann", "c", "2"], app("inputs"));
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.questions).toEqual([
      "Name (text, at most 20 characters): ",
      "Name (text, at most 20 characters): ",
      "Kind (1-2): ",
      "Kind (1-2): ",
    ]);
    expect(ran.err).toContain(
      "2 required inputs, optional ones with --input: text, count, flag, doc, docs:\nName is required\nKind:\n  1  a\n  2  b\n",
    );
    expect(ran.err).toContain('"c" is not one of them: type a number from 1 to 2, or a name\n');
    expect(lastBody(/workflows\/run$/)).toMatchObject({ inputs: { name: "Ann", kind: "b" } });
    const command = commandIn(ran.err, "wf run");
    expect(command).toEqual(["wf", "run", "--input", "name=Ann", "--input", "kind=b"]);
    const again = await server.cli(command, { folder: home, ...app("inputs") });
    expect(again.exit, again.err).toBe(0);
    expect(lastBody(/workflows\/run$/)).toMatchObject({ inputs: { name: "Ann", kind: "b" } });
  });

  test("--quiet leaves the prompts complete", async () => {
    const ran = await replying(["run", "-q"], ["Ann", "c", "2"], app("inputs"));
    expect(ran.err).toContain("Kind:\n  1  a\n  2  b\n");
    expect(ran.err).toContain('"c" is not one of them: type a number from 1 to 2, or a name\n');
    expect(ran.err).not.toContain("without prompts");
  });

  test("beside given ones, and the flags of the line stay in the command", async () => {
    const line = ["run", "--input", "name=Ann B", "--detach", "--user", "ann"];
    const ran = await replying(line, ["a"], app("inputs"));
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.questions).toEqual(["Kind (1-2): "]);
    const inputs = ["--input", "name=Ann B", "--input", "kind=a"];
    expect(commandIn(ran.err, "wf run")).toEqual(["wf", "run", ...inputs, ...line.slice(3)]);
  });

  test.each<[string, readonly string[], World]>([
    ["--no-input", ["--no-input"], {}],
    ["CI", [], { env: { ...app("inputs").env, CI: "1" } }],
    ["--inputs", ["--inputs", "{}"], {}],
    ["no terminal", [], { tty: false }],
  ])("are not asked for with %s", async (_, flags, world) => {
    const ran = await replying(["run", ...flags], ["Ann", "a"], { ...app("inputs"), ...world });
    expect(ran.exit).toBe(2);
    expect(ran.questions).toEqual([]);
    expect(ran.err).toContain('inputs "name" and "kind" are required');
  });

  test("of a chat application: its key is the mistake", async () => {
    const ran = await replying(["run"], ["x"], app("chat"));
    expect(ran.exit).toBe(6);
    expect(ran.questions).toEqual([]);
  });

  const field = (control: string, variable: string, more: object = {}) => ({
    [control]: { variable, label: variable.toUpperCase(), required: true, ...more },
  });

  /** Asks for the inputs of a form; returns those sent and the prompts. */
  async function asked(form: readonly object[], answers: readonly string[]) {
    const id = "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11";
    const of = (kind: string, data: object) => ({
      event: kind,
      workflow_run_id: id,
      task_id: "t",
      data,
    });
    const bodies: string[] = [];
    const mock = await runServer({
      "GET /v1/parameters": json({ user_input_form: form }),
      "POST /v1/files/upload": json({ id: "f" }, 201),
      "POST /v1/workflows/run": (socket, before, request) => {
        bodies.push(request.slice(request.indexOf("\r\n\r\n") + 4));
        streaming(
          eventsText(
            of("workflow_started", { id, reason: "initial" }),
            of("node_started", { id: "1", node_id: "s" }),
            of("workflow_finished", { id, status: "succeeded", outputs: {}, total_steps: 1 }),
          ),
        )(socket, before, request);
      },
    });
    const questions: string[] = [];
    const env = { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" };
    const ran = await cli(["wf", "run"], { tty: true, answers, questions, env });
    const { inputs = undefined } = JSON.parse(bodies[0] ?? "{}") as { inputs?: unknown };
    return { ...ran, questions, inputs };
  }

  test("a default is shown and taken with Enter", async () => {
    const form = [
      field("text-input", "q"),
      field("select", "lang", { options: ["de", "en"], default: "en" }),
      field("number", "count", { default: 3 }),
    ];
    const ran = await asked(form, ["hi", "", ""]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.questions).toEqual(["Q (text): ", "LANG (1-2) [en]: ", "COUNT (number) [3]: "]);
    expect(ran.inputs).toEqual({ q: "hi", lang: "en", count: 3 });
  });

  test("a run that can start with defaults asks for nothing", async () => {
    const ran = await asked([field("number", "count", { default: 3 })], ["4"]);
    expect(ran.exit, ran.err).toBe(0);
    expect([ran.questions, ran.inputs]).toEqual([[], {}]);
  });

  test("of every kind: wrong replies are asked for again", async () => {
    const form = [
      field("number", "count"),
      field("checkbox", "flag"),
      field("json_object", "data"),
      field("file", "doc"),
      field("file-list", "docs", { max_length: 3 }),
      field("select", "size", { options: ["5", "10"] }),
    ];
    const plain = ["many", "4", "maybe", "Yes", "{", '{"a":1}'];
    const files = ["", "no.txt", doc, "", doc, "https://example.com/b.txt", ""];
    const replies = [...plain, ...files, "1", "10"];
    const ran = await asked(form, replies);
    expect(ran.exit, ran.err).toBe(0);
    const file = { type: "document", transfer_method: "local_file", upload_file_id: "f" };
    expect(ran.inputs).toEqual({
      count: 4,
      flag: true,
      data: { a: 1 },
      doc: file,
      docs: [
        file,
        { type: "document", transfer_method: "remote_url", url: "https://example.com/b.txt" },
      ],
      size: "10",
    });
    expect([...new Set(ran.questions)]).toEqual([
      "COUNT (number): ",
      "FLAG (yes or no): ",
      "DATA (JSON): ",
      "DOC (path or URL of a file): ",
      "DOCS (file 1: path or URL): ",
      "DOCS (file 2: path or URL; Enter to finish): ",
      "DOCS (file 3: path or URL; Enter to finish): ",
      "SIZE: ",
    ]);
    expect(ran.err).toContain("no.txt not found");
    expect(ran.err).toContain('"1" is not one of them: type a name');
  });

  test("ten invalid replies end the command before anything is sent", async () => {
    const ran = await asked(
      [field("number", "count")],
      Array.from({ length: 12 }, () => "x"),
    );
    expect(ran.exit).toBe(2);
    expect(ran.questions).toHaveLength(10);
    expect(ran.inputs).toBeUndefined();
  });
});

const rejection = ["--action", "reject", "--input", "comment=no"];
const startReview = ["run", "--input", "query=hello"];

describe("a pause on a terminal", () => {
  test("asks for the action, then for the inputs, and the run continues", async () => {
    const ran = await replying(startReview, ["no", "app", ""], app("review"));
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.questions).toEqual([
      "Review (1-3): ",
      "Review (1-3): ",
      "comment (text) [looks fine]: ",
    ]);
    expect(ran.err).toContain("  1  Approve\n  2  Reject\n  3  later\n");
    expect(lastBody(/form\/human_input/)).toMatchObject({
      action: "approve",
      inputs: { comment: "looks fine" },
    });
    // The dialog shows the choices; the form shows its text.
    expect(ran.out).toMatch(/Please review: hello\n {2}expires in \d+ minutes \(/);
    expect(ran.out).not.toMatch(/\$output|action {3}|input {4}|form {4}/);
    expect(ran.out).toContain("looks fine");
  });

  test("can be rejected by number, with another comment", async () => {
    const ran = await replying(startReview, ["2", "no budget"], app("review"));
    expect(ran.exit, ran.err).toBe(0);
    expect(lastBody(/form\/human_input/)).toMatchObject({
      action: "reject",
      inputs: { comment: "no budget" },
    });
  });

  test("can be left for later: the printed command submits it", async () => {
    const before = sent(/form/).length;
    const ran = await replying(startReview, ["later"], app("review"));
    expect(ran.exit).toBe(8);
    expect(ran.err).toMatch(/^paused: run [0-9a-f-]{36} is waiting for human input$/m);
    expect(ran.err).not.toContain("error:");
    expect(sent(/form/)).toHaveLength(before);
    const command = commandIn(ran.err, "wf form submit");
    const flags = ["--action", "approve", "--input", "comment=looks fine"];
    expect(command.slice(4)).toEqual(flags);
    const submitted = await server.cli(command, { folder: home, ...app("review") });
    expect(submitted.exit, submitted.err).toBe(0);
  });

  test("has two forms: one after the other", async () => {
    const ran = await replying(startReview, ["1", "first", "1", "second"], app("two-reviews"));
    expect(ran.exit, ran.err).toBe(0);
    expect(sent(/form/).slice(-2).map(bodyOf)).toMatchObject([
      { inputs: { comment: "first" } },
      { inputs: { comment: "second" } },
    ]);
    // The view shows both texts together, and the second one not again: the prompts say whose turn it is.
    expect(ran.err).toMatch(/ {2}First hello\n[^]*action approve\n {2}Second hello\n/);
  });

  test.each<[string, readonly string[], World, number]>([
    ["-o json", ["-o", "json"], {}, 8],
    ["--no-input", ["--no-input"], {}, 8],
    ["an expectation, which judges the pause", ["--expect", "run paused"], {}, 0],
    ["no terminal", [], { tty: false }, 8],
  ])("asks for nothing with %s", async (_, flags, world, exit) => {
    const ran = await replying([...startReview, ...flags], ["1"], { ...app("review"), ...world });
    expect([ran.exit, ran.questions]).toEqual([exit, []]);
  });

  test("the label is yellow, that of an error red", async () => {
    const colored = [...startReview, "--color", "always"];
    const paused = await replying(colored, ["later"], app("review"));
    expect(paused.err).toContain("\u001b[33mpaused:\u001b[39m run ");
    const failed = await replying(colored, [], app("broken"));
    expect(failed.err).toContain("\u001b[31merror:\u001b[39m ");
  });

  test("submitted by someone else meanwhile: the run is followed", async () => {
    const ran = await replying(startReview, [], {
      ...app("review"),
      around: (host) => ({
        ...host,
        async prompt(question) {
          if (question.startsWith("comment")) {
            const [token] = await openForms("review");
            const line = ["wf", "form", "submit", token ?? "", ...rejection];
            expect((await server.cli(line, app("review"))).exit).toBe(0);
          }
          return question.startsWith("comment") ? "mine" : "1";
        },
      }),
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain("the form was submitted in the meantime; following the run\n");
    expect(ran.out).toContain("workflow_finished");
  });
});

test("a connection that is lost during the prompt: the run is followed after the submission", async () => {
  const id = "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11";
  const of = (kind: string, data: object) => ({
    event: kind,
    workflow_run_id: id,
    task_id: "t",
    data,
  });
  const form = {
    form_id: "f",
    form_token: "f",
    node_id: "h",
    node_title: "Review",
    actions: [{ id: "approve" }],
  };
  const began = of("workflow_started", { id, reason: "initial" });
  const pause = of("workflow_paused", { reasons: [{ TYPE: "human_input_required", ...form }] });
  let cut = () => {};
  const held: Route = (socket, before, request) => {
    pinging(eventsText(began, pause))(socket, before, request);
    cut = () => void socket.resetAndDestroy();
  };
  const done = eventsText(
    of("workflow_started", { id, reason: "resumption", created_at: 2 }),
    of("workflow_finished", { id, status: "succeeded", outputs: {} }),
  );
  let isSubmitted = false;
  const mock = await runServer({
    "POST /v1/workflows/run": streaming(eventsText(began, pause)),
    "GET /v1/workflow/": inTurn(held, streaming(done)),
    "GET /v1/workflows/run/": (...request) =>
      json({ id, status: isSubmitted ? "running" : "paused", error: null })(...request),
    "GET /v1/form/": json({
      form_content: "ok?",
      inputs: [],
      resolved_default_values: {},
      user_actions: [{ id: "approve", title: "Approve" }],
      expiration_time: null,
    }),
    "POST /v1/form/": (...request) => {
      isSubmitted = true;
      json({})(...request);
    },
  });
  const ran = await cli(["wf", "run", "--inputs", "{}"], {
    tty: true,
    env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" },
    around: (host) => ({
      ...host,
      prompt() {
        cut();
        return Promise.resolve("1");
      },
    }),
  });
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).toContain("submitted form with action approve");
  expect(mock.requests.filter((line) => line.startsWith("POST /v1/form"))).toHaveLength(1);
});

/** The tokens of the forms that wait. */
async function openForms(name: string): Promise<readonly string[]> {
  const ran = await server.cli(["wf", "form", "list", "-o", "name"], {
    folder: home,
    ...app(name),
  });
  expect(ran.exit, ran.err).toBe(0);
  return ran.out.split("\n").filter((token) => token !== "");
}

describe("wf form submit on a terminal", () => {
  const started = async () => {
    const ran = await server.cli(["wf", ...startReview], { folder: home, ...app("review") });
    expect(ran.exit).toBe(8);
    return commandIn(ran.err, "wf form submit")[3] ?? "";
  };

  test("shows the form and asks as a pause does", async () => {
    const token = await started();
    const ran = await replying(["form", "submit", token], ["9", "approve", ""], app("review"));
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toMatch(/^ {2}Please review: hello\n {2}expires in \d+ minutes \(/m);
    expect(ran.questions).toEqual([
      "Action (1-3): ",
      "Action (1-3): ",
      "comment (text) [looks fine]: ",
    ]);
    const [, command = ""] =
      /follow its run with `([^`]+)`$/m.exec(ran.err.replace(/\n {4}/g, " ")) ?? [];
    expect(command).toMatch(/^wf events \S{36} --follow$/);
    expect((await server.cli(command.split(" "), app("review"))).exit).toBe(0);
  });

  test("of a run that this machine does not know names the log", async () => {
    const line = ["form", "submit", await started(), "--action", "reject", "--input", "comment=no"];
    const ran = await replying(line, [], { ...app("review"), folder: join(home, "elsewhere") });
    expect(ran.err.replace(/\n {4}/g, " ")).toMatch(
      /^Submitted form \S+; find its run with `wf logs`, then follow it with `wf events RUN --follow`$/m,
    );
  });

  test("with an action it asks for the missing inputs only", async () => {
    const line = ["form", "submit", await started(), "--action", "reject"];
    const ran = await replying(line, [""], app("review"));
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.questions).toEqual(["comment (text) [looks fine]: "]);
    const whole = ["form", "submit", await started(), ...line.slice(3), "--input", "comment=no"];
    expect(await replying(whole, [], app("review"))).toMatchObject({ exit: 0, questions: [] });
  });

  test("later leaves it open and exits with 8", async () => {
    const token = await started();
    const ran = await replying(["form", "submit", token], ["l"], app("review"));
    expect(ran.exit).toBe(8);
    expect(ran.err).toContain("paused: the form was not submitted");
    expect(await openForms("review")).toContain(token);
  });

  test("an unknown action asks for nothing", async () => {
    const token = await started();
    const line = ["form", "submit", token, "--action", "fine"];
    const ran = await replying(line, ["x"], app("review"));
    expect([ran.exit, ran.questions]).toEqual([2, []]);
  });

  test("Enter takes all of a long default, whose beginning is shown", async () => {
    const value = `Dear all,\n${"fine ".repeat(20)}\n`;
    const bodies: string[] = [];
    const mock = await runServer({
      "GET /v1/form/": json({
        form_content: "ok?",
        inputs: [{ type: "paragraph", output_variable_name: "text", default: { value } }],
        resolved_default_values: {},
        user_actions: [{ id: "send", title: "Send it" }],
        expiration_time: null,
      }),
      "POST /v1/form/": (socket, before, request) => {
        bodies.push(request.slice(request.indexOf("\r\n\r\n") + 4));
        json({})(socket, before, request);
      },
    });
    const questions: string[] = [];
    const ran = await cli(["wf", "form", "submit", "t"], {
      tty: true,
      answers: ["send it", ""],
      questions,
      env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain("  1  Send it (send)\n  2  later\n");
    expect(questions).toEqual(["Action (1-2): ", "text (text) [Dear all, …]: "]);
    expect(JSON.parse(bodies[0] ?? "")).toMatchObject({ action: "send", inputs: { text: value } });
  });

  test("a value that the server rejects is asked for again, with the typed value as default", async () => {
    const form = json({
      form_content: "ok?",
      inputs: [{ type: "paragraph", output_variable_name: "comment", default: null }],
      resolved_default_values: {},
      user_actions: [{ id: "approve", title: "Approve" }],
      expiration_time: null,
    });
    const bodies: string[] = [];
    const taken =
      (route: Route): Route =>
      (socket, before, request) => {
        bodies.push(request.slice(request.indexOf("\r\n\r\n") + 4));
        route(socket, before, request);
      };
    const rejected = json({ code: "invalid_form_data", message: "too short", status: 400 }, 400);
    const mock = await runServer({
      "GET /v1/form/": form,
      "POST /v1/form/": taken(inTurn(rejected, json({}))),
    });
    const questions: string[] = [];
    const ran = await cli(["wf", "form", "submit", "t"], {
      tty: true,
      answers: ["1", "no", "1", ""],
      questions,
      env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain("too short");
    expect(questions.slice(2)).toEqual(["Action (1-2): ", "comment (text) [no]: "]);
    expect(bodies.map((body) => JSON.parse(body) as unknown)).toMatchObject([
      { inputs: { comment: "no" } },
      { inputs: { comment: "no" } },
    ]);
  });
});

test("wf show of a paused run prints its form and the command that submits it", async () => {
  const review = { folder: home, ...app("review") };
  const paused = await server.cli(["wf", ...startReview], review);
  const run = /run ([0-9a-f-]{36}) is waiting/.exec(paused.err)?.[1] ?? "";
  const shown = await server.cli(["wf", "show", run], review);
  expect(shown.exit, shown.err).toBe(0);
  expect(shown.err).toMatch(
    /^waiting for form Review:\n {2}Please review: hello\n {2}expires in \d+ minutes .*\nanswer it with `wf form submit /,
  );
  expect((await server.cli(commandIn(shown.err, "wf form submit"), review)).exit).toBe(0);
});

test.each<[boolean, RegExp, RegExp]>([
  [true, /^started \(\+09:00\) +\d{4}-\d\d-\d\d \d\d:\d\d$/m, /minutes \(.*\d\d:\d\d \+09:00\)$/m],
  [false, /^started\t\S+Z$/m, /minutes \(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\)$/m],
])("a form expires in the time zone of the table (terminal: %s)", async (tty, inTable, inForm) => {
  const env = { ...app("review").env, TZ: "Asia/Tokyo" };
  await server.cli(["wf", ...startReview], { folder: home, env });
  const shown = await server.cli(["wf", "show", "last"], { folder: home, env, tty, columns: 120 });
  expect(shown.out).toMatch(inTable);
  expect(shown.err).toMatch(inForm);
});

describe("wf form list", () => {
  test("lists the forms of paused runs with their tokens, of all end users", async () => {
    const clock = fastClock(20);
    const other = await testSandbox({ clock });
    const before = clock.now().getTime();
    const run = (user: string) =>
      other.cli(["wf", ...startReview, "--user", user], { folder: home, ...app("review") });
    expect([(await run("ann")).exit, (await run("bob")).exit]).toEqual([8, 8]);
    const list = (...flags: readonly string[]) =>
      other.cli(["wf", "form", "list", ...flags], { folder: home, ...app("review") });
    const listed = await list("-o", "json");
    expect(listed.exit, listed.err).toBe(0);
    // Runs of the same second have no order.
    const rows = (
      JSON.parse(listed.out) as { by: string; token: string; expires: number }[]
    ).toSorted((a, b) => (a.by < b.by ? 1 : -1));
    expect(rows).toMatchObject([
      { node: "Review", by: "bob", run: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      { node: "Review", by: "ann" },
    ]);
    const paused = ((rows[1]?.expires ?? 0) - 3600) * 1000;
    expect(paused).toBeGreaterThan(before - 1000); // in whole seconds
    expect(paused).toBeLessThanOrEqual(clock.now().getTime());
    const line = ["wf", "form", "submit", rows[0]?.token ?? "", ...rejection];
    expect((await other.cli(line, { folder: home, ...app("review") })).exit).toBe(0);
    const names = await list("-o", "name");
    expect(names.out).toBe(`${rows[1]?.token}\n`);
    const echo = { tty: true, folder: home, ...app("echo") };
    expect((await other.cli(["wf", "form", "list"], echo)).err).toBe(
      "only runs of the last 7 days were read; --since reads older ones\nno open forms\n",
    );
  });

  test("of a chat application lists the runs followed here, until they are submitted", async () => {
    const chat = { folder: await temporaryDirectory(), ...app("chat-review") };
    const paused = await server.cli(["wf", "chat", "send", "hello"], chat);
    expect(paused.exit).toBe(8);
    const list = () => server.cli(["wf", "form", "list", "-o", "name"], chat);
    const listed = await list();
    expect(listed.exit, listed.err).toBe(0);
    expect(listed.out).toBe(`${commandIn(paused.err, "wf form submit")[3]}\n`);
    expect(listed.err).toContain("only forms of runs that were followed on this machine");
    const submit = commandIn(paused.err, "wf form submit");
    expect((await server.cli(submit, chat)).exit).toBe(0);
    const reads = () => server.seen.filter(({ path }) => /\/events(\?|$)/.test(path)).length;
    const before = reads();
    expect([(await list()).out, reads()]).toEqual(["", before + 1]);
    // From then on it is known to have no form.
    expect([(await list()).out, reads()]).toEqual(["", before + 1]);
  });

  test("a run that the API does not show has a row without a form", async () => {
    const log = {
      id: "1",
      workflow_run: { id: "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11", status: "paused" },
      created_by_account: { id: "2", name: "Ann", email: "ann@example.com" },
      created_by_end_user: null,
      created_at: 1,
    };
    const mock = await runServer({
      "GET /v1/workflows/logs": json({
        data: [log],
        total: 1,
        page: 1,
        limit: 100,
        has_more: false,
      }),
      "GET /v1/workflow/": json(
        { code: "not_found", message: "Workflow run not found.", status: 404 },
        404,
      ),
    });
    const ran = await cli(["wf", "form", "list", "-o", "csv", "--since", "1970-01-01"], {
      env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).toContain(",,ann@example.com,,5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11,\r\n");
    expect(ran.err).toContain("1 paused run without a form here");
  });
});

test("an expired form is marked, and a submission says what became of its run", async () => {
  const form = (title: string, expiration_time: number) => ({
    event: "human_input_required",
    workflow_run_id: "r",
    data: { form_id: title, form_token: title, node_title: title, expiration_time },
  });
  const pause = { event: "workflow_paused", workflow_run_id: "r", data: { status: "paused" } };
  const workflow_run = { id: "r", status: "paused", created_at: 1 };
  const log = { id: "l", workflow_run, created_at: 1, created_by_end_user: { session_id: "ann" } };
  const code = "human_input_form_expired";
  const mock = await runServer({
    "GET /v1/workflows/logs": json({ data: [log], total: 1, page: 1, limit: 100, has_more: false }),
    "GET /v1/workflow/": streaming(eventsText(form("Soon", 1_000_000), form("Later", 9e9), pause)),
    "GET /v1/form/": json({ code, message: "This form has expired, form_id=x", status: 412 }, 412),
  });
  const world = { env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" } };
  const list = await cli(["wf", "form", "list", "-o", "json", "--since", "1970-01-01"], world);
  const rows = JSON.parse(list.out) as readonly { node: string; status: string | null }[];
  expect(rows.map(({ node, status }) => [node, status])).toEqual([
    ["Soon", "expired"],
    ["Later", null],
  ]);
  const table = await cli(["wf", "form", "list", "--since", "1970-01-01"], { ...world, tty: true });
  expect(table.out).toMatch(/^Soon .* expired /m);
  const ran = await cli(["wf", "form", "submit", "Soon", "--action", "ok"], world);
  expect([ran.exit, ran.err]).toEqual([
    5,
    "error: failed to get form: This form has expired, form_id=x (412 human_input_form_expired)\nhint: it can no longer be submitted; `wf logs` shows the status of its run\n",
  ]);
});

test("wf form show shows the text and the defaults of a form, without places of inputs", async () => {
  await server.cli(["wf", ...startReview, "-q"], { folder: home, ...app("review") });
  const [token = ""] = await openForms("review");
  const ran = await server.cli(["wf", "form", "show", token], { folder: home, ...app("review") });
  expect(ran.out.split("\n").slice(0, 3)).toEqual([
    "form_content\tPlease review: hello",
    'inputs\tcomment (paragraph, default "looks fine")',
    "actions\tapprove (Approve), reject (Reject)",
  ]);
});

test("a detached run is shown with the commands that follow and stop it", async () => {
  const line = ["wf", "run", "--input", "query=x", "--detach"];
  const slow = { folder: home, ...app("slow") };
  const ran = await server.cli(line, { tty: true, ...slow });
  const run = /workflow_run_id\s+(\S+)/.exec(ran.out)?.[1];
  expect(commandIn(ran.err, "wf events")).toEqual(["wf", "events", run, "--follow"]);
  const stop = commandIn(ran.err, "wf stop");
  expect((await server.cli(stop, slow)).out).toContain("verified\ttrue\n");
  expect((await server.cli(line, slow)).err).toBe("");
});

describe("wf chat send", () => {
  const chat = { folder: home, ...app("chat") };

  test.each([true, false])(
    "prints the reply once, and how to continue (terminal: %s)",
    async (tty) => {
      const ran = await server.cli(["wf", "chat", "send", "hello"], { tty, ...chat });
      expect([ran.exit, ran.out]).toEqual([0, "You said: hello. This is a fixed answer.\n"]);
      expect(ran.err).toMatch(
        /^continue with\s+`wf chat send '…' --conversation-id [0-9a-f-]{36}`\n$/,
      );
      const next = await server.cli(commandIn(ran.err, "wf chat send"), chat);
      expect([next.exit, next.out]).toEqual([0, "You said: …. This is a fixed answer.\n"]);
      expect(lastBody(/chat-messages$/)).toMatchObject({
        conversation_id: commandIn(ran.err, "wf chat send").at(-1),
      });
    },
  );

  test("prints the nodes with -v, and the response with -o json as before", async () => {
    const ran = await server.cli(["wf", "chat", "send", "hello", "-v"], chat);
    expect(ran.err).toContain("node Answer succeeded\n");
    const asJson = await server.cli(["wf", "chat", "send", "hello", "-o", "json"], chat);
    expect(asJson.err).toBe("");
    expect(JSON.parse(asJson.out)).toMatchObject({
      event: "message",
      answer: "You said: hello. This is a fixed answer.",
    });
  });

  // Servers before 1.16 send the first part again, and never the second one (server §18).
  test.each(["1.14.2", "1.16.1"])(
    "asks for a form, and prints each text once: %s",
    async (version) => {
      const { env } = await testSandbox({ speed: 20, server: version });
      const world = { env: { ...app("chat-review").env, KB_BASE_URL: env["KB_BASE_URL"] } };
      const ran = await replying(["chat", "send", "hello"], ["1", "good"], world);
      expect(ran.exit, ran.err).toBe(0);
      expect(ran.err).toContain("  Please review: hello\n");
      expect(ran.out).toBe("Before the review. \nAfter the review: good\n");
      expect(ran.err).not.toContain("may be missing");
    },
  );
});

describe("wf chat", () => {
  test("with the key of a workflow asks for nothing", async () => {
    const ran = await replying(["chat"], ["x", "hello"], app("echo"));
    expect([ran.exit, ran.questions]).toEqual([6, []]);
    expect(ran.err).toBe(
      "error: the key belongs to an application of mode workflow, not a chat\nhint: run workflows: `wf run`\n",
    );
  });

  test.each([
    ["echo", ["chat", "send", "hello"], "this needs the key of a chat application"],
    ["chat", ["run"], "this needs the key of a workflow"],
  ])("the key of %s with %j", async (name, argv, message) => {
    const ran = await replying(argv, [], app(name));
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain(message);
  });

  test("is a conversation: every message continues it", async () => {
    const before = sent(/chat-messages$/).length;
    const ran = await replying(["chat"], ["hello", "", "and you?", "/exit"], app("chat"));
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).toBe(
      "You said: hello. This is a fixed answer.\nYou said: and you?. This is a fixed answer.\n",
    );
    const [first, second] = sent(/chat-messages$/)
      .slice(before)
      .map(bodyOf);
    expect(first).not.toHaveProperty("conversation_id");
    const command = commandIn(ran.err, "wf chat");
    expect(command).toEqual(["wf", "chat", "--conversation-id", second?.["conversation_id"]]);
    const more = await replying(command.slice(1), ["more", "/exit"], app("chat"));
    expect(more.exit, more.err).toBe(0);
    expect(lastBody(/chat-messages$/)).toMatchObject({
      conversation_id: second?.["conversation_id"],
    });
  });

  test.each([
    [
      "an agent",
      "agent.json: agent, function calling, one tool",
      "I will look that up. The tool said: 2026\n",
      "246c6f4e-8146-4ae2-8d22-4077fa905b17",
    ],
    [
      "a chat with sources",
      "chat-model.json: message, streaming, with citations",
      expect.stringMatching(/^\S.*\n$/s),
      "c58891f0-f7a6-4e26-a2bd-d7aeb28c9d83",
    ],
  ])("of two turns with %s", async (_, recording, turn, conversation) => {
    const bodies: string[] = [];
    const mock = await runServer({
      "POST /v1/chat-messages": (socket, before, request) => {
        bodies.push(request.slice(request.indexOf("\r\n\r\n") + 4));
        streaming(recorded(recording))(socket, before, request);
      },
    });
    const ran = await cli(["wf", "chat"], {
      tty: true,
      answers: ["one", "two", "/exit"],
      env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" },
    });
    expect(ran.exit, ran.err).toBe(0);
    const half = ran.out.length / 2;
    expect([ran.out.slice(0, half), ran.out.slice(half)]).toEqual([turn, ran.out.slice(0, half)]);
    expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual([
      expect.not.objectContaining({ conversation_id: conversation }),
      expect.objectContaining({ query: "two", conversation_id: conversation }),
    ]);
    expect(ran.err).toContain(`continue with \`wf chat --conversation-id ${conversation}\``);
  });

  test("of an unknown conversation starts a new one, and says so", async () => {
    const unknown = "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11";
    const line = ["chat", "--conversation-id", unknown];
    const ran = await replying(line, ["hello", "again", "/exit"], app("chat"));
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err.match(/not found; a new one was\s+started/g)).toHaveLength(1);
  });

  test("needs a terminal", async () => {
    const ran = await server.cli(["wf", "chat"], app("chat"));
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(
      "a conversation needs a terminal\nhint: send one message with `wf chat send hello`",
    );
  });

  test("continues after a reply that failed", async () => {
    const failed = { event: "error", message_id: "m", status: 400, code: "x", message: "no model" };
    const ok = [
      { event: "message", message_id: "n", conversation_id: "c", task_id: "t", answer: "Hi" },
      { event: "message_end", message_id: "n", conversation_id: "c", task_id: "t", metadata: {} },
    ];
    const mock = await runServer({
      "GET /v1/parameters": json({ user_input_form: [], opening_statement: "Welcome!" }),
      "POST /v1/chat-messages": inTurn(streaming(eventsText(failed)), streaming(eventsText(...ok))),
    });
    const ran = await cli(["wf", "chat"], {
      tty: true,
      answers: ["one", "two", "/exit"],
      env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain("error: the reply failed: no model\n");
    expect(ran.out).toBe("Welcome!\nHi\n");
    expect(ran.err).toContain("continue with `wf chat --conversation-id c`");
  });

  const noAnswer = "the server stores the message without its answer";
  const next = "continue the conversation with `wf chat --conversation-id c`";
  test.each([
    ["that ends with it", {}, `${noAnswer}; ${next}`],
    [
      "whose run continues",
      { workflow_run_id: "r" },
      `the reply continues on the server; stop it with \`wf chat stop t\`; ${next}`,
    ],
  ])("Ctrl-C during a reply %s says so, and what to do", async (_, run, hint) => {
    const stop = new AbortController();
    const first = { event: "message", message_id: "m", conversation_id: "c", task_id: "t", ...run };
    const mock = await runServer({
      "POST /v1/chat-messages": pinging(eventsText({ ...first, answer: "Hel" })),
    });
    const ran = await cli(["wf", "chat"], {
      tty: true,
      answers: ["one"],
      signal: stop.signal,
      onOutput: (text) => text.includes("Hel") && stop.abort("SIGINT"),
      env: { KB_BASE_URL: mock.baseUrl, KB_APP_KEY: "app-x" },
    });
    expect(ran.exit).toBe(130);
    expect(ran.err.replaceAll(/\n +/g, " ")).toContain(`hint: ${hint}\n`);
  });
});
