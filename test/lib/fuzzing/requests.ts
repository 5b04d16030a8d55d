import { operations } from "../../../src/operations/index.ts";
import { type AnyOperation, methodAndPath, type Param } from "../../../src/operations/operation.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/http/server.ts";
import { manualClock, type ManualClock } from "../manual-clock.ts";

/** Values for every parameter in turn: SQL, and strings and numbers out of range for a database. */
export const payloads: readonly unknown[] = [
  "'",
  '"',
  "' OR '1'='1",
  "x'); DELETE FROM datasets; --",
  "' UNION SELECT id FROM tags --",
  "; DROP TABLE runs;",
  "%",
  "\\",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "9223372036854775808",
  "-9223372036854775809",
  "1e400",
  "-1",
  "NaN",
  "__proto__",
  "../../etc/passwd",
  "x".repeat(70_000),
  9223372036854775808,
  -1e300,
  -1,
  0.5,
  null,
  true,
  "",
  [],
  {},
  [null],
  [[]],
  [{}],
  [{ id: "'", document_id: "'", metadata_list: [{ id: "'", name: "'", value: "'" }] }],
  { mode: "'", rules: null },
  { "'": "' OR 1=1" },
];

/** One request: an operation, the attacked parameter and its value. */
export interface Attack {
  readonly row: AnyOperation;
  readonly name: string;
  readonly param: Param;
  readonly payload: unknown;
}

/** Every parameter of every operation that is sent to the server. */
export const targets: readonly Omit<Attack, "payload">[] = operations.flatMap((row) =>
  Object.entries(row.params)
    .filter(([, { in: place }]) => place !== "local")
    .map(([name, param]) => ({ row, name, param })),
);

/** A sandbox with data of the attacker, and data of another user, which must not change. */
export interface Stage {
  /** Sends the request; returns its status and a summary of the response. */
  send(attack: Attack): Promise<{ readonly status: number; readonly info: string }>;
  /** All data of the other user, as the API returns it. */
  others(): Promise<string>;
  readonly bugs: readonly string[];
  stop(): Promise<void>;
}

type Ids = Record<string, string>;

export async function openStage(): Promise<Stage> {
  const clock = manualClock();
  const bugs: string[] = [];
  const sandbox = await startSandbox({
    clock,
    directory: null,
    onError: (error, where) => void bugs.push(`${where.slice(0, 200)}: ${String(error)}`),
  });
  const others = await createObjects("someone else", sandbox, clock);
  let mine = await createObjects("attacker", sandbox, clock);
  return {
    bugs,
    async send(attack) {
      const response = await sendTo(sandbox, requestOf(attack, mine));
      const deletes = attack.row.route.startsWith("DELETE") || response.status === 204;
      if (deletes) mine = await createObjects("attacker", sandbox, clock);
      return response;
    },
    async others() {
      const texts = await Promise.all(
        readsOf(others).map((path) => sendTo(sandbox, { method: "GET", path, key: keyFor(path) })),
      );
      return texts.map(({ text }) => text).join("\n");
    },
    stop: () => sandbox.stop(),
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body?: string | FormData;
}

function keyFor(path: string): string {
  if (path.startsWith("/datasets")) return "dataset-sandbox";
  return /user=/.test(path) ? "app-chat" : "app-echo";
}

async function sendTo(sandbox: Sandbox, { method, path, key, body }: Sent) {
  const leaving = new AbortController();
  const response = await fetch(`${sandbox.origin}/v1${path}`, {
    method,
    signal: leaving.signal,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(typeof body === "string" && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body }),
  });
  const streams = response.headers.get("content-type")?.includes("event-stream") ?? false;
  const text = streams ? "" : await response.text();
  leaving.abort();
  const { status } = response;
  return { status, text, info: `${status} ${text.slice(0, 120)}` };
}

/** Creates one object of every kind for a user; returns the IDs by parameter name. */
async function createObjects(who: string, sandbox: Sandbox, clock: ManualClock): Promise<Ids> {
  const made = async (key: string, path: string, body: object): Promise<Ids> => {
    const sent = { method: "POST", path, key, body: JSON.stringify(body) };
    const { text } = await sendTo(sandbox, sent);
    return (text === "" ? {} : JSON.parse(text)) as Ids; // the sandbox's own
  };
  const data = (path: string, body: object) => made("dataset-sandbox", path, body);
  const chance = Math.random().toString(36).slice(2); // names must differ
  const { id: dataset_id = "" } = await data("/datasets", { name: `${who.slice(0, 8)} ${chance}` });
  const base = `/datasets/${dataset_id}`;
  const text = { name: "a.txt", text: "Parking.", indexing_technique: "economy" };
  const created = await data(`${base}/document/create-by-text`, text);
  const { document, batch = "" } = created as { document?: unknown; batch?: string };
  const { id: document_id = "" } = document as Ids; // as above
  await clock.advance(1000);
  const field = await data(`${base}/metadata`, { type: "string", name: "owner" });
  const tag = await data("/datasets/tags", { name: `tag ${chance}` });
  await data("/datasets/tags/binding", { tag_ids: [tag["id"]], target_id: dataset_id });
  const { data: segments } = JSON.parse(
    (
      await sendTo(sandbox, {
        method: "GET",
        path: `${base}/documents/${document_id}/segments`,
        key: "dataset-sandbox",
      })
    ).text,
  ) as { data: readonly Ids[] };
  const say = { inputs: {}, query: who, user: who };
  const said = await made("app-chat", "/chat-messages", say);
  const ran = await made("app-echo", "/workflows/run", { inputs: { query: who }, user: who });
  const note = await made("app-chat", "/apps/annotations", { question: who, answer: "a" });
  return {
    user: who,
    dataset_id,
    document_id,
    batch,
    segment_id: segments[0]?.["id"] ?? "",
    metadata_id: field["id"] ?? "",
    tag_id: tag["id"] ?? "",
    target_id: dataset_id,
    conversation_id: said["conversation_id"] ?? "",
    message_id: said["message_id"] ?? "",
    workflow_run_id: ran["workflow_run_id"] ?? "",
    task_id: ran["task_id"] ?? "",
    annotation_id: note["id"] ?? "",
  };
}

const readsOf = (ids: Ids) => [
  `/datasets/${ids["dataset_id"]}`,
  `/datasets/${ids["dataset_id"]}/documents/${ids["document_id"]}`,
  `/datasets/${ids["dataset_id"]}/documents/${ids["document_id"]}/segments`,
  `/datasets/${ids["dataset_id"]}/metadata`,
  `/datasets/${ids["dataset_id"]}/tags`,
  `/messages?user=${encodeURIComponent(ids["user"] ?? "")}&conversation_id=${ids["conversation_id"]}`,
  `/workflows/run/${ids["workflow_run_id"]}`,
];

const unknownId = "11111111-1111-4111-8111-111111111111";

/** A request with valid values, except for the attacked parameter. */
function requestOf({ row, name: attacked, payload }: Attack, ids: Ids): Sent {
  const [method, template] = methodAndPath(row);
  const value = (name: string, param: Param) =>
    name === attacked ? payload : (ids[name] ?? validValue(param));
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const fixed = row.fixed?.[name];
    const text = name === attacked ? asText(payload) : (ids[name] ?? fixed ?? unknownId);
    return encodeURIComponent(String(text).replace(/\p{Surrogate}/gu, "?")).replaceAll(".", "%2E");
  });
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  const form = new FormData();
  for (const [name, param] of Object.entries(row.params)) {
    const sent = value(name, param);
    const included = param.required || name === attacked || name === "user";
    if (!included || sent === undefined) continue;
    if (param.in === "query") query.append(name, asText(sent));
    if (param.in === "body" || param.in === "data") body[name] = sent;
    if (param.in === "form") form.append(name, param.kind === "file" ? fileOf(sent) : asText(sent));
  }
  const places = Object.values(row.params).map((param) => param.in);
  const isForm = places.some((place) => place === "form" || place === "data");
  if (places.includes("data")) form.append("data", JSON.stringify(body));
  const key = row.key === "dataset" ? "dataset-sandbox" : appFor(template);
  const search = query.size > 0 ? `?${query.toString()}` : "";
  const common = { method, path: `${path}${search}`, key };
  if (method === "GET") return common;
  return { ...common, body: isForm ? form : JSON.stringify({ ...row.fixed, ...body }) };
}

const appFor = (path: string) => (/^\/(workflow|info|site)/.test(path) ? "app-echo" : "app-chat");

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const fileOf = (value: unknown) => new Blob([asText(value)], { type: "text/plain" });

/** A value that the server usually accepts. */
function validValue({ kind, many, choices }: Param): unknown {
  const values: Readonly<Record<string, unknown>> = {
    integer: 1,
    number: 1,
    flag: true,
    json: {},
    uuid: unknownId,
    ref: unknownId,
  };
  const one = choices?.[0] ?? values[kind] ?? "x";
  return many ? [one] : one;
}
