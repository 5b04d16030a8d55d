import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import timers from "undici/lib/util/timers.js";
import { expect, test } from "vitest";
import type { RawHost } from "../../../src/host/host.ts";
import { http } from "../../lib/raw-server.ts";
import { eventsText, inTurn, json, runServer, sleptTime, streaming } from "../../lib/run-server.ts";
import type { Route } from "../../lib/run-server.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

/** A proxy in front of the server buffers: a stream arrives when the server has closed it, or never. */
const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/** Time of the network passes only here, and by more than --idle-timeout: a slow machine changes nothing. */
function passTime() {
  timers.tick(); // starts the timers that are new
  timers.tick(2 * 3_600_000);
}

/** Nothing arrives until the client gives up. */
const silent: Route = () => passTime();

/** Is a stream open that will bring nothing more? */
let isHeld = false;
const held =
  (text: string): Route =>
  (socket: Socket) => {
    isHeld = true;
    socket.write(text);
  };

const form = { form_id: "f", node_id: "n", form_token: "tok", actions: [{ id: "yes" }] };

/** A run with an ID of its own, as the server streams, lists and stores it. */
function newRun() {
  const id = randomUUID();
  const event = (kind: string, data: object) => ({
    event: kind,
    task_id: "22222222-2222-4222-8222-222222222222",
    workflow_run_id: id,
    data: { id, ...data },
  });
  const started = eventsText(event("workflow_started", { created_at: 1, reason: "initial" }));
  const begun = held(head + started);
  const finished = (status: string) =>
    streaming(started + eventsText(event("workflow_finished", { status, outputs: { a: "1" } })));
  const paused = streaming(
    started +
      eventsText(
        event("human_input_required", form),
        event("workflow_paused", { paused_nodes: ["n"], reasons: [form], status: "paused" }),
      ),
  );
  const detail = (status: string, inputs: object = { q: "x", "sys.user_id": "kb" }) =>
    json({ id, status, inputs: JSON.stringify(inputs), outputs: { a: "1" }, error: null });
  return { id, begun, finished, paused, detail };
}

/** Unix second of the server's clock; that of the client stands still. */
const now = Date.parse("2026-11-21T00:00:10Z") / 1000;
const dated =
  (body: unknown): Route =>
  (socket) =>
    void socket.end(http(200, JSON.stringify(body), { date: new Date(now * 1000).toUTCString() }));

/** The log of the end user: runs by the second in which they were started. */
const log = (...runs: readonly (readonly [run: string, second: number])[]) =>
  dated({
    data: runs.map(([run, created_at]) => ({
      id: `log-${run}`,
      created_at,
      workflow_run: { id: run, created_at, status: "running" },
    })),
    has_more: false,
    limit: 100,
    page: 1,
    total: runs.length,
  });

/** The client sleeps beside an open stream, when it has read what arrived. */
const passingTime = (host: RawHost): RawHost => ({
  ...host,
  async sleep(ms, signal) {
    await host.sleep(ms, signal);
    if (isHeld) passTime();
    isHeld = false;
  },
});

interface Routes {
  readonly start?: Route;
  readonly logs?: Route;
  readonly details?: Route;
  readonly events?: Route;
}

type Run = ReturnType<typeof newRun>;

async function ran(line: readonly string[], run: Run, routes: Routes) {
  const server = await runServer({
    "GET /v1/parameters": json({
      user_input_form: [{ "text-input": { variable: "q", label: "q", required: false } }],
    }),
    "POST /v1/workflows/run": routes.start ?? silent,
    "GET /v1/workflows/logs": routes.logs ?? log([run.id, now]),
    "GET /v1/workflows/run/": routes.details ?? run.detail("succeeded"),
    "GET /v1/workflow/": routes.events ?? run.finished("succeeded"),
    "POST /v1/form/": json({}),
    "GET /v1/form/": json({
      form_content: "",
      resolved_default_values: {},
      inputs: [],
      user_actions: [{ id: "yes", title: "Yes" }],
    }),
  });
  const env = { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" };
  const argv = ["wf", ...line, "--idle-timeout", "1h", "--retries", "0"];
  const result = await cli(argv, { env, around: (host) => passingTime(sleptTime().around(host)) });
  const asked = (route: string) => server.requests.filter((each) => each.startsWith(route)).length;
  return { ...result, starts: asked("POST /v1/workflows"), submitted: asked("POST /v1/form/") };
}

const start = ["run", "q=x"];
const buffering = "turn off buffering there (nginx: proxy_buffering off), or set --idle-timeout";

type Held = readonly ["run" | "events", "head" | "body" | "rest", string, number];
const parts: readonly Held[] = [
  ["run", "head", "succeeded", 0],
  ["run", "head", "partial-succeeded", 0],
  ["run", "head", "failed", 9],
  ["run", "head", "stopped", 9],
  ["run", "head", "paused", 8],
  ["run", "body", "succeeded", 0],
  ["run", "rest", "failed", 9],
  ["run", "rest", "paused", 8],
  ["events", "head", "failed", 9],
  ["events", "body", "paused", 8],
];

async function follows([command, part, status]: Held) {
  const run = newRun();
  const first = { head: silent, body: held(head), rest: run.begun }[part];
  const last = status === "paused" ? run.paused : run.finished(status);
  const running = run.detail("running");
  const isFollowed = command === "events";
  const result = await ran(isFollowed ? ["events", run.id, "--follow"] : start, run, {
    start: first,
    details: inTurn(running, running, running, run.detail(status)),
    events: isFollowed && part === "body" ? inTurn(first, silent, last) : inTurn(silent, last),
  });
  return { ...result, id: run.id };
}

const other = "33333333-3333-4333-8333-333333333333";
const broken: Route = (socket) => void socket.end(http(500, "{}"));
type NotTaken = readonly [string, (run: Run) => Routes];
const notTaken: readonly NotTaken[] = [
  ["in an empty log", () => ({ logs: log() })],
  ["among older runs", ({ id }) => ({ logs: log([id, now - 2]) })],
  ["of two", ({ id }) => ({ logs: log([id, now], [other, now]) })],
  ["with other inputs", ({ detail }) => ({ details: detail("succeeded", { q: "y" }) })],
  ["without inputs", ({ detail }) => ({ details: detail("succeeded", {}) })],
  [
    "whose inputs are no JSON",
    ({ id }) => ({ details: json({ id, status: "failed", inputs: "{" }) }),
  ],
  [
    "that was purged",
    () => ({ logs: dated({ data: [{ id: "l", created_at: now, workflow_run: null }] }) }),
  ],
  [
    "without the server's time",
    ({ id }) => ({ logs: json({ data: [{ id: "l", created_at: now, workflow_run: { id } }] }) }),
  ],
  ["in a log that cannot be read", () => ({ logs: broken })],
  ["whose record cannot be read", () => ({ details: broken })],
  ["in a log that does not arrive", () => ({ logs: silent })],
];

async function answered() {
  const path = await temporaryDirectory();
  await writeFile(`${path}/yes.json`, '{"action":"yes"}');
  const run = newRun();
  const pauses = run.detail("paused");
  return ran([...start, "--answer", `${path}/yes.json`], run, {
    details: inTurn(run.detail("running"), pauses, pauses, run.detail("succeeded")),
    events: inTurn(silent, run.paused, silent, run.finished("succeeded")),
  });
}

function sought(routes: (run: Run) => Routes) {
  const run = newRun();
  return ran(start, run, routes(run));
}

/** Two rows with the same inputs, of which one run is in the log; with `isFirstSeen` the events of the first one arrive. */
async function equalRows(isFirstSeen: boolean) {
  const path = await temporaryDirectory();
  await writeFile(`${path}/rows.csv`, "q\nx\nx\n");
  const run = newRun();
  const first = isFirstSeen ? { start: inTurn(run.finished("succeeded"), silent) } : {};
  const line = ["run", "--each", `${path}/rows.csv`, "--concurrency", "1", "-o", "json"];
  return ran(line, run, first);
}

test.each(parts)(
  "wf %s, the %s of its stream held back: a run that %s exits with %i",
  async (...row) => {
    const [command, , , exit] = row;
    const result = await follows(row);
    const { err } = result;
    expect(result, err).toMatchObject({ exit, starts: command === "run" ? 1 : 0 });
    expect(err).toContain(`no events from run ${result.id}; waiting for its end: `);
    expect(err).toContain(buffering);
    expect(err).not.toContain("may have started");
    if (exit === 8) expect(err).toContain("answer it with `wf form submit tok --action yes`");
  },
);

test("a run whose stream is held back, and then fails once, is shown to its end", async () => {
  const run = newRun();
  const result = await ran([...start, "-o", "jsonl"], run, {
    details: inTurn(run.detail("running"), run.detail("succeeded")),
    events: inTurn(silent, broken, run.finished("succeeded")),
  });
  expect(result, result.err).toMatchObject({ exit: 0, starts: 1 });
  expect(result.out).toContain('{"event":"workflow_finished"');
});

test("the forms of a run whose stream is held back are answered", async () => {
  const answer = await answered();
  expect(answer, answer.err).toMatchObject({ exit: 0, starts: 1, submitted: 1 });
});

test.each(notTaken)("a run is not taken %s", async (_, routes) => {
  const result = await sought(routes);
  const { err } = result;
  expect(result, err).toMatchObject({ exit: 11, starts: 1, out: "" });
  expect(err).toContain("the run may have started; check `wf logs` before starting it again");
  expect(err).toContain(buffering);
});

test.each([now, now - 1])("a run of second %i is taken", async (at) => {
  const result = await sought(({ id }) => ({ logs: log([other, now - 5], [id, at]) }));
  expect(result, result.err).toMatchObject({ exit: 0, starts: 1 });
});

test.each([false, true])(
  "rows with the same inputs never take the same run: %j",
  async (isSeen) => {
    const equal = await equalRows(isSeen);
    const rows = JSON.parse(equal.out) as readonly { readonly status: string }[];
    expect(rows.map(({ status }) => status).toSorted(), equal.err).toEqual([
      "succeeded",
      "unknown",
    ]);
    expect(equal).toMatchObject({ exit: 10, starts: 2 });
  },
);
