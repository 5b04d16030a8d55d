import { connect } from "node:net";
import type { Socket } from "node:net";
import { bodyText, exchanges } from "./recordings.ts";
import { http, rawServer } from "./raw-server.ts";
import type { RawServer } from "./raw-server.ts";

/** An event of a recorded stream. */
export interface Played {
  readonly event: string;
  readonly raw: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A lost connection. */
export interface Cut {
  /** Bytes of the events that are sent before it, counted from the start of the run. */
  readonly at: number;
  /** How the connection ends: properly, inside a chunk, by a reset, or without further data. */
  readonly how: "end" | "truncated" | "reset" | "silence";
  /** Events during the disconnection, if a snapshot would include them. */
  readonly lost: number;
  /** Responses to the next attempts to reconnect. */
  readonly failures: readonly Failure[];
}

export type Failure = 503 | 502 | "reset" | "empty";

/** The events of the recorded stream with this title, without pings. */
export function recordedRun(title: string): readonly Played[] {
  const found = exchanges.find(({ name }) => /^streams.*?: (.*)/.exec(name)?.[1] === title);
  if (!found) throw new Error(`no recording ${title}`);
  return bodyText(found)
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []))
    .map((raw) => {
      const data = JSON.parse(raw) as Record<string, unknown>; // recorded events are objects
      return { event: String(data["event"]), raw, data };
    });
}

const textOf = ({ raw }: Played) => `data: ${raw}\n\n`;
const inner = ({ data }: Played) => (data["data"] ?? {}) as Record<string, unknown>;

/** Ends of the events, in bytes from the start of the run. */
export function endsOf(run: readonly Played[]): readonly number[] {
  let end = 0;
  return run.map((event) => (end += Buffer.byteLength(textOf(event))));
}

/** Containers have node events in snapshots only. */
const containers: Readonly<Record<string, string>> = {
  iteration_started: "iteration",
  loop_started: "loop",
};

/** The snapshot of a run after its first events: its state, as nodes and forms. */
function snapshot(happened: readonly Played[]): string[] {
  const [first] = happened;
  if (first === undefined) return [];
  const envelope = { ...first.data, data: undefined };
  const nodes = new Map<string, Record<string, unknown>>();
  const forms = new Map<string, Played>();
  let paused: Played | undefined;
  for (const event of happened) {
    const data = inner(event);
    const type = containers[event.event];
    if (event.event === "workflow_started") paused = undefined;
    if (event.event === "node_started" || type !== undefined)
      nodes.set(String(data["id"]), { node_type: type, ...data, status: "running" });
    if (/^(node_finished|iteration_completed|loop_completed)$/.test(event.event)) {
      const id = String(data["id"]);
      nodes.set(id, { ...nodes.get(id), status: data["status"], finished_at: data["finished_at"] });
    }
    if (event.event === "human_input_required") forms.set(String(data["node_id"]), event);
    if (event.event === "human_input_form_filled") forms.delete(String(data["node_id"]));
    if (event.event === "workflow_paused") paused = event;
  }
  const omitted = {
    inputs: null,
    outputs: null,
    process_data: null,
    error: null,
    inputs_truncated: undefined,
  };
  const events: object[] = [
    { ...first.data, data: { ...inner(first), reason: "initial" } },
    ...("conversation_id" in first.data
      ? [{ ...envelope, event: "message_replace", answer: "", reason: "" }]
      : []),
    ...[...nodes.values()].flatMap(({ status, finished_at, ...node }, index) => {
      const waits = paused !== undefined && status === "running";
      const started = { ...node, ...omitted, index: index + 1 };
      const ended = { ...started, status: waits ? "paused" : status, finished_at };
      return [
        { ...envelope, event: "node_started", data: started },
        ...(status === "running" && !waits
          ? []
          : [{ ...envelope, event: "node_finished", data: ended }]),
      ];
    }),
    ...(paused ? [...forms.values(), paused].map(({ data }) => data) : []),
  ];
  return events.map((data) => `data: ${JSON.stringify(data)}\n\n`);
}

/** Kinds that a snapshot restores, or that contain only text: no others may be lost without a notice. */
const mayPass = /^(node_started|node_finished|text_chunk|message|reasoning_chunk|agent_log)$/;

/**
 * A TCP server that plays a recorded run to its client, with lost connections. Events that were sent
 * only in part, and some more, have happened before the next connection.
 */
export async function playedRun(run: readonly Played[], cuts: readonly Cut[]): Promise<RawServer> {
  const ends = endsOf(run);
  const bytes = Buffer.from(run.map(textOf).join(""));
  const waiting = [...cuts];
  const failures: Failure[] = [];
  let happened = 0;

  const chunk = (text: string | Uint8Array) => {
    const body = Buffer.from(text);
    return Buffer.concat([
      Buffer.from(`${body.length.toString(16)}\r\n`),
      body,
      Buffer.from("\r\n"),
    ]);
  };

  const streams = (socket: Socket) => {
    socket.write(
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    const [last] = run.slice(happened - 1, happened);
    if (last?.event === "workflow_finished") {
      socket.end(Buffer.concat([chunk(textOf(last)), Buffer.from("0\r\n\r\n")]));
      return;
    }
    socket.write(chunk(`event: ping\n\n${snapshot(run.slice(0, happened)).join("")}`));
    const from = ends[happened - 1] ?? 0;
    const cut = waiting.shift();
    if (cut === undefined || cut.at <= from) {
      happened = run.length;
      if (from < bytes.length) socket.write(chunk(bytes.subarray(from)));
      socket.write("0\r\n\r\n");
      return;
    }
    // An event that was sent in part has happened; its rest is lost.
    happened = ends.findIndex((end) => end >= cut.at) + 1;
    for (let more = cut.lost; more > 0 && mayPass.test(run[happened]?.event ?? ""); more--)
      happened++;
    // Forms are published together with the pause they cause.
    while (run[happened - 1]?.event === "human_input_required") happened++;
    failures.push(...cut.failures);
    const sent = bytes.subarray(from, cut.at);
    if (cut.how === "truncated") {
      socket.end(chunk(Buffer.concat([sent, Buffer.alloc(50)])).subarray(0, sent.length + 4));
    } else {
      socket.write(chunk(sent), () => {
        if (cut.how === "reset") socket.resetAndDestroy();
        if (cut.how === "end") socket.write("0\r\n\r\n");
      });
    }
  };

  const fails = (socket: Socket, failure: Failure) => {
    if (failure === "reset") socket.resetAndDestroy();
    else if (failure === "empty")
      socket.end("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n");
    else if (failure === 502) socket.end(http(502, "<html>Bad gateway</html>"));
    else socket.end(http(503, '{"code": "unavailable", "message": "later", "status": 503}'));
  };

  return rawServer([
    (socket, request) => {
      if (request.startsWith("GET /v1/workflows/run/")) {
        socket.end(http(200, JSON.stringify(detail(run.slice(0, happened)))));
        return;
      }
      if (request.startsWith("GET /v1/parameters")) {
        socket.end(http(200, '{"user_input_form": []}'));
        return;
      }
      const failure = failures.shift();
      if (failure === undefined) streams(socket);
      else fails(socket, failure);
    },
  ]);
}

/** The record of a run after its first events. */
function detail(happened: readonly Played[]): object {
  const ends = happened.findLast(({ event }) => /^workflow_(started|paused|finished)$/.test(event));
  const status = ends && ends.event !== "workflow_started" ? inner(ends)["status"] : "running";
  return { id: ends?.data["workflow_run_id"], status, outputs: {}, error: null };
}

/** One address for several runs: forwards each request to the server of its run. */
export async function gateway(servers: ReadonlyMap<string, string>): Promise<string> {
  const front = await rawServer([
    (socket, request) => {
      const id = [...servers.keys()].find((each) => request.includes(each)) ?? "";
      const behind = connect(Number(new URL(servers.get(id) ?? "").port), "127.0.0.1");
      behind.on("error", () => socket.resetAndDestroy());
      behind.on("close", () => socket.destroy());
      behind.pipe(socket);
      behind.write(request);
    },
  ]);
  return front.baseUrl;
}
