import { join } from "node:path";
import { readdirSync, readFileSync } from "node:fs";
import { request as send } from "node:http";
import { recordingsFolder } from "./paths.ts";

/** One recorded request and its response. A few responses were recorded without their request. */
export interface Exchange {
  readonly title: string;
  readonly request?: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly body_text?: string;
  };
  readonly response: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly body_text?: string;
    readonly body_bytes?: number;
    readonly zip_entries?: readonly unknown[];
    /** Pieces of an event stream: seconds since the request, text. */
    readonly chunks?: readonly (readonly [seconds: number, text: string])[];
    /** How the stream ended: `closed by server`, `closed by client`, or why the client gave up. */
    readonly end?: string;
  };
  readonly seconds: number | null;
}

/** A response: `body` is the parsed JSON, or the text if it is not JSON. */
export interface Replayed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  readonly body: unknown;
}

/** One recorded file: the version of the server and the exchanges in order. */
export interface Recording {
  readonly server_version: string;
  readonly exchanges: readonly Exchange[];
}

export function recording(name: string): Recording {
  const file = readFileSync(join(recordingsFolder, `${name}.json`), "utf8");
  return JSON.parse(file) as Recording; // the files are ours and never change
}

/** Scenes that were recorded with 1.14 and again with 1.16, by API. */
const again = {
  knowledge: [
    ["knowledge", "metadata", "tags", "deletion"],
    ["errors"],
    ["hierarchy"],
    ["persistence"],
    ["pipeline"],
    ["download"],
    ["child-chunks"],
    ["models"],
    ["high-quality", "switch-model"],
    ["model-change"],
    ["qa-model", "parent-child", "parent-child-rules"],
    ["pipeline-run"],
  ],
  apps: [
    ["app", "runs", "chat", "inputs", "streams", "streams-more", "ordering"],
    ["runs-model"],
    ["runs-model-attach"],
    ["retry-stop"],
    ["chat-model"],
    ["chatflow-model"],
    ["completion"],
    ["agent"],
    ["audio"],
    ["annotation-reply"],
    ["model-change"],
  ],
} as const satisfies Record<string, readonly (readonly string[])[]>;

/** The name of a file or an exchange of 1.16 in the recordings of 1.14. */
export const unversioned = (name: string): string => name.replace(/^1\.16\//, "");

const newest = (files: readonly string[]) => files.map((file) => `1.16/${file}`);

/** Files to replay against the sandbox, by API and grouped by server. */
export const scenes = {
  knowledge: [
    ...again.knowledge,
    ["older-1.12.1"],
    ["1.15/changed-errors"],
    ["1.15/changed-knowledge"],
    ["1.15/knowledge-more"],
    ["1.15/chunks-more"],
    ["1.15/pipeline"],
    ["1.15/uploads"],
    ["1.15/misc"],
    ...again.knowledge.map(newest),
    ["1.16/differences"],
    ["1.16/disable-enable"],
    ["1.16/switch-race"],
  ],
  apps: [
    ...again.apps,
    ["1.15/changed-app", "1.15/changed-runs", "1.15/changed-chat"],
    ["1.15/changed-streams"],
    ["1.15/changed-streams-more"],
    ["1.15/dead-listener"],
    ["1.15/dead-starter"],
    ["1.15/forms"],
    ["1.15/ordering"],
    ["1.15/start-refused"],
    ["1.15/stop"],
    ["1.15/two-forms"],
    ["1.15/two-forms-at-once"],
    ["1.15/two-forms-lost"],
    ["1.15/misc"],
    ["1.15/uploads"],
    ...again.apps.map(newest),
    ["1.16/agent-new"],
    ["1.16/differences"],
    ["1.16/wf-app"],
    ["1.16/wf-end-users"],
    ["1.16/wf-forms"],
    ["1.16/wf-listeners"],
    ["1.16/wf-model-errors"],
    ["1.16/wf-runs"],
    ["1.16/wf-start-refused"],
    ["1.16/wf-stop"],
  ],
} satisfies Record<string, readonly (readonly string[])[]>;

/** Files whose exchanges belong to either API, by the key that was sent. */
const shared = new Set(["model-change", "1.15/misc", "1.15/uploads", "1.16/differences"]);

/** Why exchanges are not replayed: file → title → reason. `*` stands for every title not listed. */
export type Unplayed = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Marks titles that are replayed although `*` excludes the others. */
export const asked = "";

/** The exchanges of a file that belong to an API, with `file: title` and the reason to skip them. */
export function played(side: keyof typeof scenes, file: string, unplayed: Unplayed) {
  return recording(file)
    .exchanges.filter(({ request }) => {
      const app = request?.headers["Authorization"]?.startsWith("Bearer app-") ?? false;
      return !(shared.has(file) || shared.has(unversioned(file))) || app === (side === "apps");
    })
    .map((exchange) => {
      const skipped = unplayed[file] ?? unplayed[unversioned(file)];
      const why = skipped?.[exchange.title] ?? skipped?.["*"] ?? asked;
      return { name: `${file}: ${exchange.title}`, file, exchange, why };
    });
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const batch = /\b[0-9]{20}\b/;
const token = /\b[A-Za-z0-9]{22}\b/;
const known = new RegExp([uuid, batch, token].map(({ source }) => source).join("|"), "g");
const isId = (text: string) => new RegExp(`^(?:${known.source})$`).test(text);

/** Recorded ID → ID in the sandbox. */
export type Ids = Map<string, string>;

/** The text with every known ID replaced by that of the sandbox. */
export const translated = (text: string, ids: Ids): string =>
  text.replace(known, (id) => ids.get(id) ?? id);

/** `dataset-dataset-KEY` → `dataset-sandbox`, `app-echo-KEY` → `app-echo`; others are unchanged. */
const ourKey = (header: string) =>
  header.replace("dataset-dataset-KEY", "dataset-sandbox").replace(/(app-[a-z]+)-KEY/, "$1");

const boundary = "between-the-parts";

/** The form described by `multipart: fields [('user', 'u1')], files [('file', 'a.mp3', 'audio/mp3', 3)]`. */
function formOf(text: string): Buffer {
  const [fields = "", files = ""] = text.split(", files [");
  const parts = [
    ...[...fields.matchAll(/\('(\w+)', '([^']*)'\)/g)].map(([, name, value = ""]) => [
      `form-data; name="${name}"`,
      value,
    ]),
    ...[...files.matchAll(/\('(\w+)', '([^']*)', '([^']*)', (\d+)\)/g)].map(
      ([, name, file, type, size]) => [
        `form-data; name="${name}"; filename="${file}"\r\nContent-Type: ${type}`,
        "x".repeat(Number(size)),
      ],
    ),
  ].map(([head, content]) => `--${boundary}\r\nContent-Disposition: ${head}\r\n\r\n${content}\r\n`);
  return Buffer.from(`${parts.join("")}--${boundary}--\r\n`);
}

/**
 * Sends a recorded request to the sandbox, with the IDs and keys of the sandbox.
 * Does not use fetch, which would add headers and repair requests that are invalid on purpose.
 */
export function resend(exchange: Exchange, origin: string, ids: Ids): Promise<Replayed> {
  const { request } = exchange;
  if (!request) throw new Error(`${exchange.title}: the request was not recorded`);
  const cut = /^(.*k)…\(9,000 more\)$/.exec(request.path);
  const path = translated(cut ? `${cut[1]}${"k".repeat(9000)}` : request.path, ids);
  const text =
    request.body_text ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const form = text?.startsWith("multipart: ") ? formOf(text) : undefined;
  const body = form ?? (text === undefined ? undefined : Buffer.from(translated(text, ids)));
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, ourKey(value)]),
  );
  if (form) headers["Content-Type"] = `multipart/form-data; boundary=${boundary}`;
  if (body) headers["Content-Length"] = String(body.byteLength);

  return new Promise((resolve, reject) => {
    const sent = send(
      origin,
      { method: request.method, path: encoded(path), headers },
      (answer) => {
        const pieces: Buffer[] = [];
        answer.on("data", (piece: Buffer) => pieces.push(piece));
        answer.on("error", reject);
        answer.on("end", () => {
          const all = Buffer.concat(pieces).toString("utf8");
          resolve({
            status: answer.statusCode ?? 0,
            headers: Object.fromEntries(
              Object.entries(answer.headers).map(([name, value]) => [name, value?.toString()]),
            ),
            text: all,
            body: jsonOr(all),
          });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Encodes characters of recorded paths that are invalid in a request line. */
const encoded = (path: string) => path.replace(/[^\x21-\x7e]/g, encodeURIComponent);

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  kindOf(value) === "object";

/**
 * Differences between two values in fields, types or lengths of lists; values
 * themselves may differ. Records which ID of the sandbox corresponds to which recorded one.
 */
export function differences(recorded: unknown, ours: unknown, ids: Ids, at = "body"): string[] {
  if (kindOf(recorded) !== kindOf(ours)) {
    return [`${at}: recorded ${kindOf(recorded)}, here ${kindOf(ours)}`];
  }
  if (typeof recorded === "string" && typeof ours === "string") {
    if (isId(recorded) && isId(ours)) ids.set(recorded, ours);
    return [];
  }
  if (Array.isArray(recorded) && Array.isArray(ours)) {
    const length =
      recorded.length === ours.length
        ? []
        : [`${at}: recorded ${recorded.length} items, here ${ours.length}`];
    const items = recorded
      .slice(0, ours.length)
      .flatMap((item, index) => differences(item, ours[index], ids, `${at}.${index}`));
    return [...length, ...items];
  }
  if (isObject(recorded) && isObject(ours)) {
    return [...new Set([...Object.keys(recorded), ...Object.keys(ours)])].flatMap((field) => {
      const path = `${at}.${field}`;
      if (!(field in ours)) return [`${path}: missing here`];
      if (!(field in recorded)) return [`${path}: not recorded`];
      return differences(recorded[field], ours[field], ids, path);
    });
  }
  return [];
}

/** The events of a stream, without pings and comments. */
export const eventsIn = (text: string): readonly unknown[] =>
  text
    .split("\n\n")
    .filter((block) => block.startsWith("data: "))
    .map((block) => jsonOr(block.slice("data: ".length)));

/** The text of a piece: of a message, or of a run. */
function pieceOf(event: unknown): unknown {
  if (!isObject(event)) return undefined;
  const { data, answer } = event;
  return isObject(data) ? data["text"] : answer;
}

/** An event of a piece without its text. */
const withoutPiece = (event: unknown): string =>
  JSON.stringify(event, (name, value: unknown) =>
    name === "text" || name === "answer" ? undefined : value,
  );

/** Whether an event is the same empty thought again, which new agents send with each piece. */
const isSentAgain = (event: unknown, index: number, events: readonly unknown[]): boolean =>
  isObject(event) &&
  `${event["thought"]}${event["tool"]}` === "" &&
  events.findIndex((each) => isObject(each) && each["id"] === event["id"]) < index;

/**
 * Consecutive pieces of one text as one event: a model cuts and words its replies differently from
 * the recorded one.
 */
const joinedPieces = (all: readonly unknown[]): readonly unknown[] =>
  all
    .filter((...each) => !isSentAgain(...each))
    .filter((event, index, events) => {
      const isPiece = typeof pieceOf(event) === "string";
      return !isPiece || index === 0 || withoutPiece(events[index - 1]) !== withoutPiece(event);
    });

/** The events of a stream with the pieces of each text joined. */
export const joinedEventsIn = (text: string): readonly unknown[] => joinedPieces(eventsIn(text));

/** What an event says besides its values: its name, its node and its status. */
function summaryOf(event: unknown): string {
  if (!isObject(event)) return String(event);
  const { node_id, status, error } = dataOf(event);
  const selector = dataOf(event)["from_variable_selector"] ?? event["from_variable_selector"];
  const words = [event["event"], node_id, status, error, selector && JSON.stringify(selector)];
  return comparable(words.filter((word) => typeof word === "string").join(" "));
}

/**
 * Events in an order that no race decides: those of each node, or of its rounds in an iteration, and
 * then the text.
 */
function unraced(events: readonly unknown[]): readonly unknown[] {
  const rounds = new Map<unknown, unknown>();
  for (const { id, execution_metadata: metadata } of events.map(dataOf)) {
    if (isObject(metadata)) rounds.set(id, metadata["iteration_index"]);
  }
  const placeOf = (event: unknown) => {
    const { id, node_id } = dataOf(event);
    return typeof pieceOf(event) === "string" ? "~" : `${node_id} ${rounds.get(id)}`;
  };
  return events
    .map((event) => ({ event, place: placeOf(event) }))
    .sort((a, b) => Number(a.place > b.place) - Number(a.place < b.place))
    .map(({ event }) => event);
}

const dataOf = (event: unknown): Readonly<Record<string, unknown>> =>
  isObject(event) && isObject(event["data"]) ? event["data"] : {};

/** How streams are compared. */
interface Comparison {
  /** A model wrote the text: its pieces are compared as one. */
  readonly joined?: boolean;
  /** Nodes ran side by side: only the order of each is compared. */
  readonly racing?: boolean;
  /** The application is the recorded one: names, nodes, statuses and errors of events are compared. */
  readonly exactly?: boolean;
}

/** Differences between two streams. */
function differentEvents(
  recorded: readonly unknown[],
  ours: readonly unknown[],
  ids: Ids,
  { joined = false, racing = false, exactly = false }: Comparison,
): string[] {
  const [wanted = [], here = []] = [recorded, ours]
    .map((events) => (racing ? unraced(events) : events))
    .map((events) => (joined ? joinedPieces(events) : events));
  const different = differences(wanted, here, ids, "events");
  if (!exactly) return different;
  const [lines, ownLines] = [wanted, here].map((events) => events.map(summaryOf).join("\n"));
  return lines === ownLines ? different : [`recorded:\n${lines}\nhere:\n${ownLines}`, ...different];
}

/**
 * Differences between a response and the recorded one: status, content type, fields and types of
 * values. Error messages must be equal; events of streams are compared in order.
 */
export function compared(
  exchange: Exchange,
  ours: Replayed,
  ids: Ids,
  how: Comparison = {},
): string[] {
  const { response } = exchange;
  if (response.status !== ours.status) {
    return [`status: recorded ${response.status}, here ${ours.status} ${ours.text.slice(0, 200)}`];
  }
  const found: string[] = [];
  const type = response.headers?.["Content-Type"];
  const oursType = ours.headers["content-type"];
  // Missing in some recordings.
  if (type !== undefined && type !== oursType && ours.status !== 204) {
    found.push(`Content-Type: recorded ${type}, here ${oursType}`);
  }
  const streamed = response.chunks?.map(([, text]) => text).join("");
  if (streamed !== undefined && !type?.startsWith("application/json")) {
    return [...found, ...differentEvents(eventsIn(streamed), eventsIn(ours.text), ids, how)];
  }
  // What is not a stream may be recorded like one: an error, or documents of a pipeline.
  const [body, here] =
    streamed === undefined ? [response.body, ours.body] : [jsonOr(streamed), jsonOr(ours.text)];
  if (body !== undefined) {
    // A search teaches no IDs: chunks of equal score come in any order.
    const known = exchange.request?.path.endsWith("/retrieve") ? new Map(ids) : ids;
    found.push(...differences(body, here, known));
    if (response.status >= 400) found.push(...differentMessages(body, here, ids));
  } else if (response.body_text !== undefined && type?.startsWith("text/html")) {
    const recorded = response.body_text.replaceAll("http://127.0.0.1:5001", "");
    const page = ours.text.replace(/http:\/\/127\.0\.0\.1:\d+/g, "");
    if (recorded !== page) found.push(`text: ${page}`);
  }
  return found;
}

function differentMessages(recorded: unknown, ours: unknown, ids: Ids): string[] {
  if (!isObject(recorded) || !isObject(ours)) return [];
  return ["code", "message", "error"].flatMap((field) => {
    const wanted = recorded[field];
    if (typeof wanted !== "string") return [];
    const here = String(ours[field]);
    if (comparable(translated(wanted, ids)) === comparable(here)) return [];
    return [`${field}: recorded ${wanted}, here ${here}`];
  });
}

/**
 * A message without the version of the validation library, the ID of a call of a model, and the name of
 * a table, which has the ID of its knowledge base.
 */
const comparable = (text: string) =>
  text
    .replace(/(?<=embedding_vector_index_)[0-9a-f]{8}[0-9a-f_]*/gi, "")
    .replaceAll("pydantic.dev/2.11/", "pydantic.dev/2.12/")
    .replace(/\breq_id: [0-9a-f]*/, "req_id:");

/** The applications of the server with models, as exported files by name. */
export const recordedApplications: ReadonlyMap<string, unknown> = new Map(
  readdirSync(join(recordingsFolder, "applications")).map((file) => {
    const text = readFileSync(join(recordingsFolder, "applications", file), "utf8");
    return [file.replace(".json", ""), JSON.parse(text) as unknown];
  }),
);
