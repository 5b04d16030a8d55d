import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/http/server.ts";
import { manualClock, type ManualClock } from "../lib/manual-clock.ts";
import { seeded } from "../lib/seeded.ts";

/** The fields of event data and of runs that these tests read; each has some of them. */
interface Data {
  readonly id: string;
  readonly workflow_id: string;
  readonly node_type: string;
  readonly status: string;
  readonly reason: string;
  readonly index: number;
  readonly retry_index: number;
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly form_id: string;
  readonly form_token: string;
  readonly reasons: readonly [
    {
      readonly form_id: string;
      readonly form_token: string;
      readonly form_content: string;
    },
  ];
}

interface Ids {
  readonly id: string;
  readonly task_id: string;
  readonly workflow_run_id: string;
  readonly conversation_id: string;
  readonly message_id: string;
  readonly answer: string;
}

interface Event extends Ids {
  readonly event: string;
  readonly data: Data;
}

/** The response of a run or message, or the detail of a run. */
interface ResponseBody extends Ids {
  readonly data: Data;
  readonly status: string;
  readonly inputs: string;
  readonly outputs: { readonly answer: string };
  readonly created_at: number;
  readonly finished_at: number;
}

interface Page {
  readonly has_more: boolean;
  readonly data: readonly {
    readonly id: string;
    readonly query: string;
    readonly workflow_run: { readonly id: string };
    readonly created_by_end_user: { readonly session_id: string };
  }[];
}

interface ErrorBody {
  readonly code: string;
  readonly message: string;
}

let clock: ManualClock;
let sandbox: Sandbox;
const directories: string[] = [];

async function open(
  options: Partial<Pick<SandboxOptions, "directory" | "random" | "server" | "onError">> = {},
): Promise<void> {
  clock = manualClock();
  sandbox = await startSandbox({ clock, directory: null, ...options });
}

afterEach(async () => {
  await sandbox.stop();
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
});

function send(app: string, method: string, path: string, body?: unknown): Promise<Response> {
  const form = body instanceof FormData;
  return fetch(`${sandbox.origin}/v1${path}`, {
    method,
    headers: {
      Authorization: `Bearer app-${app}`,
      ...(body !== undefined && !form && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: form ? body : JSON.stringify(body) }),
  });
}

// Each test asserts the fields it uses.
async function json<T = ResponseBody>(app: string, method: string, path: string, body?: unknown) {
  const response = await send(app, method, path, body);
  return (await response.json()) as T;
}

const page = (app: string, path: string) => json<Page>(app, "GET", path);

/** Returns status, code and message of an error response. */
async function rejection(app: string, method: string, path: string, body?: unknown) {
  const response = await send(app, method, path, body);
  const { code, message } = (await response.json()) as ErrorBody; // as above
  return [response.status, code, message];
}

/** Reads an event stream as it arrives. */
function reader(response: Response) {
  expect(response.status).toBe(200);
  // fetch returns bytes; its type is less specific
  const chunks = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  const events: Event[] = [];
  const blocks: string[] = [];

  async function more(): Promise<boolean> {
    const { value, done } = await chunks.read();
    if (done) return false;
    text += decoder.decode(value, { stream: true });
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    blocks.push(...parts);
    for (const part of parts) {
      if (part.startsWith("data: ")) events.push(JSON.parse(part.slice("data: ".length)));
    }
    return true;
  }

  return {
    events,
    /** The text between blank lines: pings and events. */
    blocks,
    /** Reads until the event has occurred `times` times, and returns the last one. */
    async until(name: string, times = 1): Promise<Event> {
      const matches = () => events.filter(({ event }) => event === name);
      while (matches().length < times) {
        if (!(await more())) throw new Error(`the stream ended before ${name}`);
      }
      return matches()[times - 1] as Event; // the loop waited for it
    },
    async pings(count: number): Promise<void> {
      while (blocks.filter((block) => block === "event: ping").length < count) {
        if (!(await more())) throw new Error("the stream ended before the ping");
      }
    },
    /** Reads to the end, and advances the second that the server keeps the connection open. */
    async end(): Promise<Event[]> {
      let closed = false;
      const rest = (async () => {
        while (await more());
        closed = true;
      })();
      await clock.asleep(1000);
      expect(closed).toBe(false);
      await clock.advance(1000);
      await rest;
      return events;
    },
    leave: () => chunks.cancel(),
  };
}

const startStream = async (app: string, inputs: object, user = "u1") =>
  reader(await send(app, "POST", "/workflows/run", { inputs, user, response_mode: "streaming" }));

const attach = async (app: string, run: string, flags = "", user = "u1") =>
  reader(await send(app, "GET", `/workflow/${run}/events?user=${user}${flags}`));

const blocking = (app: string, inputs: object, user = "u1") =>
  json(app, "POST", "/workflows/run", { inputs, user });

const names = (events: readonly Event[]) => events.map(({ event }) => event);

describe("a run", () => {
  test("streams a ping and its events, and closes a second after the last", async () => {
    await open();
    const stream = await startStream("echo", { query: "héllo 世界" });
    const events = await stream.end();
    expect(stream.blocks[0]).toBe("event: ping");
    expect(names(events)).toEqual([
      "workflow_started",
      "text_chunk",
      "node_started",
      "node_finished",
      "node_started",
      "node_finished",
      "workflow_finished",
    ]);
    expect(events[1]?.data).toEqual({
      text: "héllo 世界",
      from_variable_selector: ["s", "query"],
    });
    expect(events.at(-1)?.data).toMatchObject({
      status: "succeeded",
      outputs: { query: "héllo 世界" },
      total_steps: 2,
      exceptions_count: 0,
    });
  });

  test("closes with its last event on a server before 1.13.0", async () => {
    await open();
    sandbox.setFaults([parseFault("POST /workflows/run version=1.12.1")]);
    const response = await send("echo", "POST", "/workflows/run", {
      inputs: { query: "x" },
      user: "u1",
      response_mode: "streaming",
    });
    expect(response.headers.get("x-version")).toBe("1.12.1");
    expect((await response.text()).split("\n\n").at(-2)).toContain('"event":"workflow_finished"');
  });

  test("blocks without a response mode", async () => {
    await open();
    const { data, workflow_run_id } = await blocking("echo", { query: "hi" });
    expect(data).toMatchObject({ status: "succeeded", outputs: { query: "hi" }, error: null });
    const detail = await json("echo", "GET", `/workflows/run/${workflow_run_id}`);
    expect(JSON.parse(detail.inputs)).toMatchObject({ query: "hi", "sys.user_id": "u1" });
    expect(detail.inputs).toContain('{"query": "hi", "sys.files": [], ');
  });

  test("fails with HTTP 200 if a node fails", async () => {
    await open();
    const { data } = await blocking("broken", { query: "x" });
    expect(data).toMatchObject({
      status: "failed",
      outputs: {},
      error: "[Errno 111] Connection refused",
      total_steps: 2,
    });
  });

  test("is partially successful if a default value is used after two retries", async () => {
    await open();
    const stream = await startStream("flaky", { query: "x" });
    await stream.until("node_started", 2);
    await clock.advance(600);
    const events = await stream.end();
    const retries = events.filter(({ event }) => event === "node_retry");
    expect(retries.map(({ data }) => data.retry_index)).toEqual([1, 2]);
    expect(new Set(retries.map(({ data }) => data.id)).size).toBe(1);
    expect(events.at(-1)?.data).toMatchObject({
      status: "partial-succeeded",
      outputs: { result: "fallback" },
      exceptions_count: 3,
    });
  });

  test("loops without node events of the loop itself", async () => {
    await open();
    const stream = await startStream("loop", { query: "x" });
    await stream.until("loop_started");
    await clock.advance(400);
    const events = await stream.end();
    const rounds = events.filter(({ event }) => event === "loop_next");
    expect(rounds.map(({ data }) => data.index)).toEqual([1, 2, 3]);
    expect(events.find(({ event }) => event === "loop_completed")?.data).toMatchObject({
      outputs: { num: 5, loop_round: 4 },
      steps: 10,
    });
    const types = events.filter(({ event }) => event === "node_started");
    expect(types.map(({ data }) => data.node_type)).not.toContain("loop");
    expect(events.at(-1)?.data).toMatchObject({ outputs: { num: 5 }, total_steps: 3 });
  });

  test("iterates over a list and joins the results", async () => {
    await open();
    const stream = await startStream("batch", { query: "x" });
    await stream.until("iteration_started");
    await clock.advance(300);
    const events = await stream.end();
    const rounds = events.filter(({ event }) => event === "iteration_next");
    expect(rounds.map(({ data }) => data.index)).toEqual([0, 1, 2]);
    expect(events.at(-1)?.data.outputs).toEqual({ output: [1, 2, 2, 4, 3, 6] });
  });

  test("continues when the client disconnects", async () => {
    await open();
    const stream = await startStream("slow", { query: "x", seconds: 2.5 });
    const { workflow_run_id: run } = await stream.until("workflow_started");
    await clock.asleep(2500);
    await stream.leave();
    await clock.advance(2500);
    const detail = await json("slow", "GET", `/workflows/run/${run}`);
    expect(detail).toMatchObject({ status: "succeeded", elapsed_time: 2.5 });
  });

  test.each([
    ["echo", {}, "query is required in input form"],
    ["echo", { query: 5 }, "(type 'text-input') query in input form must be a string"],
    [
      "inputs",
      { name: "A", kind: "c" },
      "kind in input form must be one of the following: ['a', 'b']",
    ],
    [
      "inputs",
      { name: "A".repeat(21), kind: "a" },
      "name in input form must be less than 20 characters",
    ],
    ["inputs", { name: "A", kind: "a", count: "x" }, "count in input form must be a valid number"],
    ["inputs", { name: "A", kind: "a", doc: { upload_file_id: "none" } }, "Invalid upload file"],
  ])("of %s with %j is rejected: %s", async (app, inputs, message) => {
    await open();
    expect(await rejection(app, "POST", "/workflows/run", { inputs, user: "u1" })).toEqual([
      400,
      "invalid_param",
      message,
    ]);
  });

  test("accepts a number as text and ignores unknown inputs", async () => {
    await open();
    const { data } = await blocking("inputs", { name: "A", kind: "a", count: "12", zzz: 1 });
    expect(data.outputs).toEqual({ name: "A", count: 12 });
  });

  test("requires a user, an application of the right mode and one of its workflows", async () => {
    await open();
    const mode = "Please check if your app mode matches the right API route.";
    const body = { inputs: { query: "a" }, user: "u1" };
    expect(await rejection("echo", "POST", "/workflows/run", { inputs: {} })).toEqual([
      400,
      "invalid_param",
      "Arg user must be provided.",
    ]);
    expect(await rejection("chat", "POST", "/workflows/run", body)).toEqual([
      400,
      "not_workflow_app",
      mode,
    ]);
    expect(await rejection("echo", "POST", "/chat-messages", { ...body, query: "a" })).toEqual([
      400,
      "not_chat_app",
      mode,
    ]);
    expect(await rejection("echo", "POST", "/workflows/draft/run", body)).toEqual([
      400,
      "bad_request",
      "Invalid workflow_id format: 'draft'. ",
    ]);
    const unknown = "470cca0d-a0a4-4141-bff9-99e18341654b";
    expect(await rejection("echo", "POST", `/workflows/${unknown}/run`, body)).toEqual([
      404,
      "not_found",
      `Workflow not found with id: ${unknown}`,
    ]);
  });

  test("runs by workflow ID", async () => {
    await open();
    const { data } = await blocking("echo", { query: "first" });
    const body = { inputs: { query: "by id" }, user: "u1" };
    const again = await json("echo", "POST", `/workflows/${data.workflow_id}/run`, body);
    expect(again.data.outputs).toEqual({ query: "by id" });
  });
});

describe("events of a run", () => {
  test("after its end are one event in ASCII, for its user and application only", async () => {
    await open();
    const { workflow_run_id: run } = await blocking("echo", { query: "é" });
    const response = await send("echo", "GET", `/workflow/${run}/events?user=u1`);
    const text = await response.text();
    expect(text).toContain(`data: {"event": "workflow_finished", "task_id": "${run}", `);
    expect(text).toContain('"outputs": {"query": "\\u00e9"}');
    expect(text.split("\n\n")).toHaveLength(2);

    const missing = [404, "not_found", "Workflow run not found"];
    expect(await rejection("echo", "GET", `/workflow/${run}/events?user=u2`)).toEqual(missing);
    expect(await rejection("slow", "GET", `/workflow/${run}/events?user=u1`)).toEqual(missing);
    expect(await rejection("echo", "GET", `/workflow/${run}/events`)).toEqual([
      400,
      "invalid_param",
      "Arg user must be provided.",
    ]);
  });

  test("begin with the next one, or with a snapshot", async () => {
    await open();
    const stream = await startStream("slow", { query: "x" });
    const { workflow_run_id: run, task_id: task } = await stream.until("workflow_started");
    await clock.asleep(6000);
    const plain = await attach("slow", run);
    const snapshot = await attach("slow", run, "&include_state_snapshot=true");
    await plain.pings(1);
    await snapshot.until("node_started", 2);
    await clock.advance(6000);
    await snapshot.until("workflow_finished");
    await clock.advance(1000);

    await plain.until("workflow_finished");
    expect(names(plain.events)[0]).toBe("text_chunk");
    expect(names(snapshot.events).slice(0, 5)).toEqual([
      "workflow_started",
      "node_started",
      "node_finished",
      "node_started",
      "text_chunk",
    ]);
    const [first, , , second] = snapshot.events;
    expect(first?.task_id).toBe(run);
    expect(JSON.parse(JSON.stringify(first?.data.inputs))).toHaveProperty(["sys.timestamp"]);
    expect(second?.data.index).toBe(2);
    expect(snapshot.events.at(-1)?.task_id).toBe(task);
  });

  test("may miss events between the snapshot and the live stream", async () => {
    await open();
    sandbox.setFaults([parseFault("GET /workflow/*/events lose=2")]);
    const stream = await startStream("slow", { query: "x" });
    const { workflow_run_id: run } = await stream.until("workflow_started");
    await clock.asleep(6000);
    const late = await attach("slow", run, "&include_state_snapshot=true");
    await late.until("node_started", 2);
    await clock.advance(6000);
    await late.until("workflow_finished");
    const snapshot = ["workflow_started", "node_started", "node_finished", "node_started"];
    const live = ["node_started", "node_finished", "workflow_finished"]; // the slow node never ends
    expect(names(late.events)).toEqual([...snapshot, ...live]);
  });

  test("ping every 10 seconds and end after 300 seconds of silence", async () => {
    await open();
    const { workflow_run_id: run } = await blocking("review", { query: "x" });
    const stream = await attach("review", run);
    await stream.pings(1);
    for (let pings = 2; pings <= 31; pings++) {
      await clock.asleep(10_000);
      await clock.advance(10_000);
      await stream.pings(pings);
    }
    await expect(stream.pings(32)).rejects.toThrow("the stream ended");
    expect(stream.events).toEqual([]);
  });
});

test("a keyword is compared with the stored inputs, in which non-ASCII is escaped", async () => {
  await open();
  await blocking("echo", { query: "héllo 日本" });
  const countLogs = async (keyword: string) =>
    (await page("echo", `/workflows/logs?keyword=${encodeURIComponent(keyword)}`)).data.length;
  expect(await countLogs("日本")).toBe(0);
  expect(await countLogs("\\u65e5\\u672c")).toBe(1);
  expect(await countLogs("llo")).toBe(1);
});

test("cursors of messages, and of conversations by creation, skip the rest of their second", async () => {
  await open();
  const say = (query: string, conversation_id = "") =>
    json("chat", "POST", "/chat-messages", { inputs: {}, query, user: "u1", conversation_id });
  const { conversation_id: conversation } = await say("1");
  for (const query of ["2", "3", "4"]) {
    if (query === "3") await clock.advance(1000);
    await say(query, conversation);
  }
  const path = `/messages?user=u1&conversation_id=${conversation}&limit=1`;
  const [newest] = (await page("chat", path)).data;
  expect(newest?.query).toBe("4");
  const { data } = await page("chat", `${path}&first_id=${newest?.id}`);
  expect(data.map(({ query }) => query)).toEqual(["2"]); // not 3, of the same second as 4

  await say("of the same second");
  const list = (sort: string) => page("chat", `/conversations?user=u1&limit=1&sort_by=${sort}`);
  const after = async (sort: string) => {
    const [first] = (await list(sort)).data;
    return (await list(`${sort}&last_id=${first?.id}`)).data.length;
  };
  await clock.advance(1000);
  await say("one second later");
  expect(await after("-created_at")).toBe(1);
  expect(await after("-updated_at")).toBe(1);
  const second = (await page("chat", "/conversations?user=u1&sort_by=-created_at")).data[1];
  const rest = `/conversations?user=u1&last_id=${second?.id}&sort_by=`;
  expect((await page("chat", `${rest}-created_at`)).data).toHaveLength(1);
  const byName = `/conversations/${conversation}/variables?user=u1&variable_name=x`;
  expect((await send("chat", "GET", byName)).status).toBe(500);
});

describe("a reader of 1.15 that disconnects", () => {
  async function openTwoReaders(flags: string) {
    await open({ server: "1.15.0" });
    const stream = await startStream("slow", { query: "x" });
    const { workflow_run_id: run } = await stream.until("workflow_started");
    await clock.asleep(6000);
    const first = await attach("slow", run);
    await first.pings(1);
    const second = await attach("slow", run, flags);
    await second.pings(1);
    await first.leave();
    for (let turn = 0; turn < 100; turn++) await clock.advance(0); // until the sandbox notices
    // Keep reading: data that was not read is lost with the connection.
    const ends = [stream, second].map((each) =>
      each.until("workflow_finished").then(
        () => "finished",
        (error: Error) => error.message,
      ),
    );
    await clock.advance(6000);
    return { run, stream, second, ends };
  }

  test("drops the other reader, and the stream of the start, at the next event", async () => {
    const { run, stream, second, ends } = await openTwoReaders("");
    expect(await Promise.all(ends)).toEqual(["terminated", "terminated"]);
    for (const each of [stream, second]) {
      expect(names(each.events).slice(-2)).toEqual(["text_chunk", "node_finished"]);
    }
    expect((await json("slow", "GET", `/workflows/run/${run}`)).status).toBe("succeeded");
  });

  test("breaks a reader with a snapshot: it gets only pings, for 300 seconds", async () => {
    const { second, ends } = await openTwoReaders("&include_state_snapshot=true");
    await clock.advance(300_000);
    expect(await ends[1]).toBe("the stream ended before workflow_finished");
    expect(second.blocks.filter((block) => block === "event: ping")).toHaveLength(31);
    expect(names(second.events).slice(-2)).toEqual(["text_chunk", "node_finished"]);
  });
});

describe("a rejected start of a stream", () => {
  const start = (app: string) =>
    send(app, "POST", app === "chat" ? "/chat-messages" : "/workflows/run", {
      inputs: {},
      query: "x",
      files: [{ type: "image", transfer_method: "local_file", upload_file_id: "none" }],
      user: "u1",
      response_mode: "streaming",
    });
  const message = { echo: "query is required in input form", chat: "Invalid upload file" };

  test.each(["echo", "chat"] as const)(
    "of %s is an error event in 1.14, then pings",
    async (app) => {
      await open();
      const stream = reader(await start(app));
      expect(await stream.until("error")).toEqual({
        event: "error",
        message: message[app],
        status: 500,
      });
      await clock.asleep(10_000);
      await clock.advance(10_000);
      await stream.pings(2);
      await stream.leave();
    },
  );

  test.each(["echo", "chat"] as const)(
    "of %s is a failed run in 1.15 that does not exist",
    async (app) => {
      await open({ server: "1.15.0" });
      const stream = reader(await start(app));
      const { task_id, workflow_run_id: run } = await stream.until("workflow_started");
      const { data } = await stream.until("workflow_finished");
      expect(data).toMatchObject({ status: "failed", error: message[app], created_by: {} });
      expect(data).toMatchObject({ total_steps: 0, outputs: null });
      expect(task_id).toBe(run);
      expect((await send(app, "GET", `/workflows/run/${run}`)).status).toBe(404);
      expect((await send(app, "GET", `/workflow/${run}/events?user=u1`)).status).toBe(404);
    },
  );

  test("of an older server is an error response", async () => {
    await open({ server: "1.13.0" });
    const response = await start("echo");
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: "invalid_param" },
    ]);
  });
});

describe("a stop", () => {
  test("by task ID ends the stream as failed and the run as stopped", async () => {
    await open();
    const stream = await startStream("slow", { query: "x" });
    const { workflow_run_id: run, task_id: task } = await stream.until("workflow_started");
    await clock.asleep(6000);
    const stop = (id: string) =>
      json("slow", "POST", `/workflows/tasks/${id}/stop`, { user: "u1" });

    expect(await stop(run)).toEqual({ result: "success" });
    await clock.advance(2000);
    expect(await json("slow", "GET", `/workflows/run/${run}`)).toMatchObject({
      status: "running",
      total_steps: 0,
    });

    expect(await stop(task)).toEqual({ result: "success" });
    await clock.advance(300);
    const error = "Aborted: User requested stop";
    const events = await stream.end();
    expect(events.at(-1)?.data).toMatchObject({ status: "failed", error });
    expect(await json("slow", "GET", `/workflows/run/${run}`)).toMatchObject({
      status: "stopped",
      error,
      total_steps: 2,
    });
  });

  /** Starts and stops `slow`; returns its ID and the last event of its stream. */
  async function startAndStop(): Promise<[run: string, last: Event | undefined]> {
    const stream = await startStream("slow", { query: "x" });
    const { workflow_run_id: run, task_id: task } = await stream.until("workflow_started");
    await json("slow", "POST", `/workflows/tasks/${task}/stop`, { user: "u1" });
    await clock.advance(300);
    const last = await stream.until("workflow_finished");
    await stream.leave();
    return [run, last];
  }

  test("that fails in the sandbox itself is reported, and fails the run", async () => {
    let broken = false;
    const errors: string[] = [];
    const random = () => {
      if (broken) throw new TypeError("no chance");
      return 0;
    };
    const onError = (error: unknown, where: string) => void errors.push(`${where}: ${error}`);
    await open({ server: "1.15.0", random, onError });
    const stream = await startStream("slow", { query: "x" });
    const { workflow_run_id: run, task_id } = await stream.until("workflow_started");
    await clock.asleep(6000);
    await json("slow", "POST", `/workflows/tasks/${task_id}/stop`, { user: "u1" });
    broken = true; // drawn for the way in which the stream reports a stop
    await clock.advance(300);
    expect(await stream.until("workflow_finished")).toMatchObject({
      data: { status: "failed", error: "The sandbox failed: TypeError: no chance" },
    });
    expect(errors).toEqual([`the run ${run} of slow: TypeError: no chance`]);
  });

  test("that is missing in the record: only the live stream shows it", async () => {
    await open();
    sandbox.setFaults([parseFault("POST /workflows/tasks/*/stop stays-running")]);
    const [run, last] = await startAndStop();
    expect(last?.data).toMatchObject({ status: "stopped", error: "Stopped by user." });
    await clock.advance(3_600_000);
    expect(await json("slow", "GET", `/workflows/run/${run}`)).toMatchObject({
      status: "running",
      finished_at: null,
      elapsed_time: 0,
      total_steps: 0,
    });
    const late = await attach("slow", run, "&include_state_snapshot=true");
    await late.until("workflow_started");
    await clock.advance(10_000);
    await late.pings(2);
    expect(names(late.events)).not.toContain("workflow_finished");
  });

  test.each([
    [0.1, "stopped", "Stopped by user."],
    [0.9, "failed", "Aborted: User requested stop"],
  ])(
    "in 1.15, random %d, is reported as %s and recorded as stopped",
    async (chance, status, error) => {
      await open({ server: "1.15.0", random: () => chance });
      const [run, last] = await startAndStop();
      expect(last?.data).toMatchObject({ status, error });
      expect(await json("slow", "GET", `/workflows/run/${run}`)).toMatchObject({
        status: "stopped",
        error: "Aborted: User requested stop",
      });
    },
  );

  test("leaves a paused run as it is", async () => {
    await open();
    const { workflow_run_id: run, task_id: task } = await blocking("review", { query: "x" });
    await json("review", "POST", `/workflows/tasks/${task}/stop`, { user: "u1" });
    await clock.advance(1000);
    expect((await json("review", "GET", `/workflows/run/${run}`)).status).toBe("paused");
  });
});

describe("a run that waits for human input", () => {
  test("shows its form, rejects invalid input and accepts valid input", async () => {
    await open();
    const stream = await startStream("review", { query: "invoice 42" });
    const events = await stream.end();
    expect(names(events).slice(-2)).toEqual(["human_input_required", "workflow_paused"]);
    const { form_token: token, form_id: form } = (events.at(-2) as Event).data; // asserted above
    const path = `/form/human_input/${token}`;
    expect(await json("review", "GET", path)).toEqual({
      form_content: "Please review: invoice 42\n\n{{#$output.comment#}}",
      inputs: [
        {
          output_variable_name: "comment",
          type: "paragraph",
          default: { type: "constant", selector: [], value: "looks fine" },
        },
      ],
      resolved_default_values: {},
      user_actions: [
        { id: "approve", title: "Approve", button_style: "primary" },
        { id: "reject", title: "Reject", button_style: "default" },
      ],
      expiration_time: 1795222800,
    });

    const input = { inputs: { comment: "ok" }, action: "approve", user: "u1" };
    const submit = (change: object) => rejection("review", "POST", path, { ...input, ...change });
    expect(await submit({ action: "maybe" })).toEqual([
      400,
      "invalid_form_data",
      "Invalid action: maybe",
    ]);
    expect(await submit({ inputs: {} })).toEqual([
      400,
      "invalid_form_data",
      "Missing required inputs: comment",
    ]);
    expect((await rejection("echo", "GET", path)).slice(0, 2)).toEqual([404, "not_found"]);

    expect(await json("review", "POST", path, input)).toEqual({});
    expect(await submit({})).toEqual([
      412,
      "human_input_form_submitted",
      `This form has already been submitted by another user, form_id=${form}`,
    ]);
    const run = events[0]?.workflow_run_id;
    expect(await json("review", "GET", `/workflows/run/${run}`)).toMatchObject({
      status: "succeeded",
      outputs: { result: "ok" },
      total_steps: 4,
    });
  });

  test("resumes in the same stream with the same node ID", async () => {
    await open();
    const paused = await blocking("review", { query: "x" });
    const run = paused.workflow_run_id;
    const flags = "&include_state_snapshot=true&continue_on_pause=true";
    const stream = await attach("review", run, flags);
    const pause = await stream.until("workflow_paused");
    const [reason] = pause.data.reasons;
    expect(reason.form_content).toBe("Please review: {{#s.query#}}\n\n{{#$output.comment#}}");
    const before = stream.events.findLast(({ event }) => event === "node_finished");
    expect(before?.data).toMatchObject({ status: "paused", node_type: "human-input" });

    await clock.advance(25_000);
    await json("review", "POST", `/form/human_input/${reason.form_token}`, {
      inputs: { comment: "fine" },
      action: "reject",
      user: "u1",
    });
    const events = await stream.end();
    const live = events.slice(events.indexOf(pause) + 1);
    expect(names(live)).toEqual([
      "workflow_started",
      "node_started",
      "human_input_form_filled",
      "text_chunk",
      "node_finished",
      "node_started",
      "node_finished",
      "workflow_finished",
    ]);
    expect(live[0]?.data.reason).toBe("resumption");
    expect(live[1]?.data.id).toBe(before?.data.id);
    expect(live[2]?.data).toMatchObject({
      rendered_content: "Please review: x\n\nfine",
      action_text: "Reject",
    });
    const detail = await json("review", "GET", `/workflows/run/${run}`);
    expect(detail.finished_at - detail.created_at).toBe(25);
  });

  test("continues without input after the form expires", async () => {
    await open();
    const { workflow_run_id: run, data } = await blocking("review", { query: "x" });
    await clock.advance(3_600_000);
    const { form_token, form_id } = data.reasons[0];
    expect(await rejection("review", "GET", `/form/human_input/${form_token}`)).toEqual([
      412,
      "human_input_form_expired",
      `This form has expired, form_id=${form_id}`,
    ]);
    expect((await json("review", "GET", `/workflows/run/${run}`)).status).toBe("succeeded");
  });
});

describe("logs", () => {
  test("are filtered by status, keyword, run ID, user and time", async () => {
    await open();
    const { workflow_run_id: run } = await blocking("echo", { query: "Hello" }, "ann");
    await clock.advance(5000);
    await blocking("echo", { query: "other" }, "bob");
    const users = async (query: string) => {
      const { data } = await page("echo", `/workflows/logs?${query}`);
      return data.map((row) => row.created_by_end_user.session_id);
    };
    expect(await users("")).toEqual(["bob", "ann"]);
    expect(await users("keyword=hello")).toEqual(["ann"]);
    expect(await users(`keyword=${run}`)).toEqual(["ann"]);
    expect(await users("status=failed")).toEqual([]);
    expect(await users("created_by_end_user_session_id=bob")).toEqual(["bob"]);
    expect(await users("created_by_account=admin@example.com")).toEqual([]);
    expect(await users("created_at__before=2026-11-21T00:00:00Z")).toEqual(["ann"]);
    expect(await users("created_at__after=2026-11-21T02:00:05%2B02:00")).toEqual(["bob"]);
  });

  test.each([
    ["created_at__after=yesterday", "invalid literal for int() with base 10: b'yest'"],
    ["created_at__after=1700000000", "ISO time too short"],
    ["created_at__after=2026-01-01T00:00:00+02:00", "Unused components in ISO string"],
    ["created_by_account=nobody@example.com", "Account not found: nobody@example.com"],
  ])("reject %s: %s", async (query, message) => {
    await open();
    expect(await rejection("echo", "GET", `/workflows/logs?${query}`)).toEqual([
      400,
      "invalid_param",
      message,
    ]);
  });

  test.each(["status=running", "limit=101", "page=0"])("reject %s", async (query) => {
    await open();
    const [status, code, message] = await rejection("echo", "GET", `/workflows/logs?${query}`);
    expect([status, code]).toEqual([400, "invalid_param"]);
    expect(message).toMatch(/^1 validation error for WorkflowLogQuery\n/);
  });

  test("fail with both a keyword and an end user", async () => {
    await open();
    const query = "keyword=a&created_by_end_user_session_id=u1";
    expect(await rejection("echo", "GET", `/workflows/logs?${query}`)).toEqual([
      500,
      "unknown",
      "Internal Server Error",
    ]);
  });

  test("miss and repeat rows of the same second between pages", async () => {
    await open({ random: seeded(1) });
    for (let run = 0; run < 12; run++) await blocking("echo", { query: String(run) });
    const ids: string[] = [];
    for (let number = 1; number <= 4; number++) {
      const response = await page("echo", `/workflows/logs?limit=3&page=${number}`);
      expect(response).toMatchObject({ total: 12, has_more: number < 4 });
      ids.push(...response.data.map((row) => row.workflow_run.id));
    }
    expect(ids).toHaveLength(12);
    expect(new Set(ids).size).toBeLessThan(12);
  });

  test("contain no chats", async () => {
    await open();
    await json("chat", "POST", "/chat-messages", { inputs: {}, query: "hi", user: "u1" });
    expect(await json("chat", "GET", "/workflows/logs")).toEqual({
      page: 1,
      limit: 20,
      total: 0,
      has_more: false,
      data: [],
    });
  });
});

describe("a chat", () => {
  const say = (app: string, query: string, more: object = {}) =>
    json(app, "POST", "/chat-messages", { inputs: {}, query, user: "u1", ...more });

  test("replies in chunks", async () => {
    await open();
    const stream = reader(
      await send("chat", "POST", "/chat-messages", {
        inputs: {},
        query: "hello",
        user: "u1",
        response_mode: "streaming",
      }),
    );
    const events = await stream.end();
    const texts = events.filter(({ event }) => event === "message").map(({ answer }) => answer);
    expect(texts).toEqual(["You said: ", "hello", ". This is a fixed answer."]);
    expect(names(events).slice(-2)).toEqual(["message_end", "workflow_finished"]);
    expect(events.at(-1)?.data.outputs).toEqual({ answer: texts.join(""), files: [] });
  });

  test("stores conversations and their messages", async () => {
    await open();
    const first = await say("chat", "one");
    const conversation = first.conversation_id;
    await clock.advance(1000);
    await say("chat", "two", { conversation_id: conversation });
    const other = await say("chat", "three", {
      conversation_id: "4c294827-2e16-4a56-9ad3-31ba07c2eb51",
    });
    expect(other.conversation_id).not.toBe(conversation);

    const history = (query: string) =>
      page("chat", `/messages?user=u1&conversation_id=${conversation}${query}`);
    const newest = await history("&limit=1");
    expect(newest.has_more).toBe(true);
    expect(newest.data.map(({ query }) => query)).toEqual(["two"]);
    const older = await history(`&first_id=${newest.data[0]?.id}`);
    expect(older.data.map(({ query }) => query)).toEqual(["one"]);

    await clock.advance(1000);
    const name = { name: "First talk", user: "u1" };
    await json("chat", "POST", `/conversations/${conversation}/name`, name);
    const list = await json("chat", "GET", "/conversations?user=u1&limit=1");
    expect(list).toMatchObject({
      has_more: true,
      data: [{ id: conversation, name: "First talk" }],
    });
    expect((await page("chat", "/conversations")).data).toEqual([]);

    const path = `/conversations/${conversation}`;
    expect((await send("chat", "DELETE", path, { user: "u1" })).status).toBe(204);
    expect(await rejection("chat", "DELETE", path, { user: "u1" })).toEqual([
      404,
      "not_found",
      "Conversation Not Exists.",
    ]);
  });

  test("stores the variables of a conversation", async () => {
    await open();
    const { conversation_id: id, answer } = await say("convo", "look");
    expect(answer).toBe("Mood is calm.");
    const { data } = await page("convo", `/conversations/${id}/variables?user=u1`);
    const path = `/conversations/${id}/variables/${data[0]?.id}`;
    expect(await rejection("convo", "PUT", path, { value: 5, user: "u1" })).toEqual([
      400,
      "bad_request",
      "Type mismatch: variable 'mood' expects string, but got integer type",
    ]);
    await json("convo", "PUT", path, { value: "happy", user: "u1" });
    const next = await say("convo", "again", { conversation_id: id });
    expect(next.answer).toBe("Mood is happy.");
  });

  test.each([
    ["1.14.2", "Before the review. Before the review. "],
    ["1.16.1", "Before the review. After the review: yes"],
  ])("that pauses repeats its first text before 1.16: %s", async (version, answer) => {
    await open({ server: version });
    const paused = await say("chat-review", "may I?");
    expect(paused).toMatchObject({ event: "workflow_paused", answer: "Before the review. " });
    const history = `/messages?user=u1&conversation_id=${paused.conversation_id}`;
    expect((await page("chat-review", history)).data[0]).toMatchObject({
      status: "paused",
      extra_contents: [{ submitted: false, form_submission_data: null, type: "human_input" }],
    });
    const { form_token } = paused.data.reasons[0];
    await json("chat-review", "POST", `/form/human_input/${form_token}`, {
      inputs: { comment: "yes" },
      action: "approve",
      user: "u1",
    });
    expect((await page("chat-review", history)).data[0]).toMatchObject({
      status: "normal",
      answer,
      extra_contents: [
        { submitted: true, form_submission_data: { submitted_data: { comment: "yes" } } },
      ],
    });
    const run = await json("chat-review", "GET", `/workflows/run/${paused.workflow_run_id}`);
    expect(run.outputs.answer).toBe("Before the review. After the review: yes");
  });

  test("accepts feedback and annotations", async () => {
    await open();
    const { message_id: id } = await say("chat", "hi");
    const rate = (rating: string | null) =>
      json("chat", "POST", `/messages/${id}/feedbacks`, { rating, user: "u1" });
    await rate("like");
    const list = await page("chat", "/app/feedbacks");
    expect(list.data).toMatchObject([
      { message_id: id, rating: "like", created_at: "2026-11-21T00:00:00" },
    ]);
    await rate(null);
    expect((await page("chat", "/app/feedbacks")).data).toEqual([]);

    const note = { question: "Where?", answer: "Here." };
    const created = await send("chat", "POST", "/apps/annotations", note);
    expect(created.status).toBe(201);
    const { id: annotation } = (await created.json()) as ResponseBody;
    const path = `/apps/annotations/${annotation}`;
    await json("chat", "PUT", path, { ...note, answer: "There." });
    // has_more is true after a full last page.
    expect(await json("chat", "GET", "/apps/annotations?limit=1")).toMatchObject({
      total: 1,
      has_more: true,
      data: [{ answer: "There." }],
    });
    expect((await send("chat", "DELETE", path)).status).toBe(204);
    expect(await rejection("chat", "DELETE", path)).toEqual([
      404,
      "not_found",
      "Annotation not found",
    ]);
  });

  test.each([
    ["POST", "/text-to-audio", { text: "a", user: "u1" }, "invalid_param", "TTS is not enabled"],
    [
      "POST",
      "/completion-messages",
      { inputs: {}, query: "x", user: "u1" },
      "app_unavailable",
      "App unavailable, please check your app configurations.",
    ],
  ])("rejects %s %s", async (method, path, body, code, message) => {
    await open();
    expect(await rejection("chat", method, path, body)).toEqual([400, code, message]);
  });
});

describe("an uploaded file", () => {
  async function upload(app: string, user: string): Promise<ResponseBody> {
    const form = new FormData();
    form.set("user", user);
    form.set("file", new File(["file bödy"], "täst.txt", { type: "text/plain" }));
    const response = await send(app, "POST", "/files/upload", form);
    expect(response.status).toBe(201);
    return (await response.json()) as ResponseBody;
  }
  const reference = (id: string) => ({
    type: "document",
    transfer_method: "local_file",
    upload_file_id: id,
  });

  test("can be used in a run of the same user only", async () => {
    await open();
    const file = await upload("inputs", "u1");
    expect(file).toMatchObject({ name: "täst.txt", size: 10, extension: "txt" });
    const inputs = { name: "Ann", kind: "a", doc: reference(file.id), docs: [reference(file.id)] };
    expect((await blocking("inputs", inputs)).data.status).toBe("succeeded");
    const body = { inputs, user: "u2" };
    expect(await rejection("inputs", "POST", "/workflows/run", body)).toEqual([
      400,
      "invalid_param",
      "Invalid upload file",
    ]);
  });

  test("has a preview after a message has used it", async () => {
    await open();
    const { id } = await upload("convo", "u1");
    expect(await rejection("convo", "GET", `/files/${id}/preview`)).toEqual([
      404,
      "file_not_found",
      "File not found in message context",
    ]);
    const body = { inputs: {}, query: "look", user: "u1", files: [reference(id)] };
    await json("convo", "POST", "/chat-messages", body);
    const preview = await send("convo", "GET", `/files/${id}/preview`);
    expect(preview.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await preview.text()).toBe("file bödy");
    const attached = await send("convo", "GET", `/files/${id}/preview?as_attachment=true`);
    expect(attached.headers.get("content-disposition")).toBe(
      "attachment; filename*=UTF-8''t%C3%A4st.txt",
    );
  });
});

describe("a sandbox that restarts", () => {
  async function restart(directory: string): Promise<void> {
    await sandbox.stop();
    sandbox = await startSandbox({ clock, directory });
  }

  test("resumes unfinished runs, and accepts input for old forms", async () => {
    const directory = await mkdtemp(join(tmpdir(), "sandbox-"));
    directories.push(directory);
    await open({ directory });
    const paused = await blocking("review", { query: "x" });
    const stream = await startStream("slow", { query: "x" });
    const { workflow_run_id: slow } = await stream.until("workflow_started");
    await clock.asleep(6000);
    await stream.leave();

    await restart(directory);
    await clock.asleep(6000);
    await clock.advance(6000);
    expect(await json("slow", "GET", `/workflows/run/${slow}`)).toMatchObject({
      status: "succeeded",
      outputs: { result: "slow body" },
    });
    const { form_token } = paused.data.reasons[0];
    await json("review", "POST", `/form/human_input/${form_token}`, {
      inputs: { comment: "late" },
      action: "approve",
      user: "u1",
    });
    const run = await json("review", "GET", `/workflows/run/${paused.workflow_run_id}`);
    expect(run).toMatchObject({ status: "succeeded", outputs: { result: "late" } });
  });
});
