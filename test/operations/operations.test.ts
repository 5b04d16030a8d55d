import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { flagOf, flagParams } from "../../src/cli/parse/command.ts";
import type { Command } from "../../src/cli/parse/command.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { operations } from "../../src/operations/index.ts";
import { methodAndPath } from "../../src/operations/operation.ts";
import type { Param, Shape } from "../../src/operations/operation.ts";
import { formats } from "../../src/output/style.ts";
import { bodyText, exchanges, headersOf, streamed } from "../lib/recordings.ts";
import { sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";
import { wireFixtures } from "../lib/wire-fixtures.ts";
import type { WireCase, WirePart } from "../lib/wire-fixtures.ts";
import { listening } from "../lib/listening.ts";

const fixtures = [...wireFixtures.values()];
const cases = fixtures.flatMap(({ operation, cases: each }) =>
  each.map((one, index) => ({ name: `${operation} ${index + 1}`, operation, ...one })),
);

const commands = [...(await commandsOf("kb")), ...(await commandsOf("wf"))];
const wordsOf = (line: readonly string[]): readonly string[] =>
  line.filter((word, at) => word !== "--app" && line[at - 1] !== "--app");
const commandOf = (line: readonly string[]): Command | undefined =>
  commands
    .filter(({ words }) => words.every((word, at) => wordsOf(line)[at] === word))
    .sort((a, b) => b.words.length - a.words.length)[0];

let server: TestSandbox;
const place = await temporaryDirectory();
beforeAll(async () => {
  server = await testSandbox();
  mkdirSync(join(place, "files"));
  writeFileSync(join(place, "files", "a.md"), "text");
  for (const { name, files = {} } of cases) {
    mkdirSync(join(place, name));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(place, name, file), text);
  }
});

/** The command line of a fixture with more flags; `{file:…}` becomes a path. */
function typed(
  { name, line }: WireCase & { readonly name: string },
  ...more: readonly string[]
): string[] {
  const end = line.indexOf("--");
  const all = end < 0 ? [...line, ...more] : line.toSpliced(end, 0, ...more);
  return all.map((word) =>
    word.replace(/\{file:([^}]+)\}/g, (_, file: string) => join(place, name, file)),
  );
}

/** The application of the sandbox for a command line of wf. */
const appOf = ({ line }: WireCase): Readonly<Record<string, string>> =>
  line[0] !== "wf" || line.includes("--app")
    ? {}
    : { KB_APP: /^(run|show|events|logs|stop)$/.test(line[1] ?? "") ? "echo" : "chat" };

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** A server with the given responses, until the end of the test, that records requests. */
async function stub(answer: (request: Arrived) => Answer) {
  const seen: Arrived[] = [];
  const listener = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { method = "", url = "" } = request;
      const path = url.replace(/\?.*$/, "");
      const arrived = { method, path, body: Buffer.concat(pieces).toString() };
      seen.push(arrived);
      const { status, type, body } = answer(arrived);
      response.writeHead(status, { "content-type": type, "x-version": "1.14.2" }).end(body);
    });
  });
  const baseUrl = await listening(listener);
  return { seen, env: { KB_BASE_URL: baseUrl } };
}

const json = (body: unknown, status = 200): Answer => ({
  status,
  type: "application/json",
  body: JSON.stringify(body),
});

describe.each(fixtures)("$operation", ({ operation: id, cases: lines }) => {
  const rows = operations.filter((row) => row.id === id);

  test("has a row and a command, and help lists its method and path", async () => {
    const [first] = lines;
    expect(rows.length).toBeGreaterThan(0);
    const [program = "", ...words] = commandOf(first?.line ?? [])?.words ?? [];
    const help = await cli([program, ...words, "--help"]);
    expect(help.exit).toBe(0);
    expect(help.out).toMatch(new RegExp(`\\b${id}\\b`));
    const json = await cli([program, "help", ...words, "--json"]);
    const { operations: sent } = JSON.parse(json.out) as {
      operations: { id: string; method: string; path: string }[];
    };
    const { method, path = "" } = sent.find((operation) => operation.id === id) ?? {};
    expect(method).toBe(first?.request.method);
    const pattern = new RegExp(`^/v1${path.replace(/\{\w+\}/g, "[^/]+")}$`);
    expect(first?.request.path).toMatch(pattern);
  });

  test("is implemented by the sandbox", async () => {
    const { method = "", path = "" } = lines[0]?.request ?? {};
    const key = rows[0]?.key === "dataset" ? "dataset-sandbox" : "app-chat";
    const answer = await fetch(`${server.sandbox.origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).not.toBe(501);
    expect(await answer.text()).not.toContain("was not found on the server. If you entered");
  });
});

/** Cases whose request is not the first write of the command, which ends a dry run. */
const laterWrites: Readonly<Record<string, string>> = {
  updateDocumentByFile: "sent if an older server does not support updateDocument",
};

const writes = cases.filter(
  (one) => commandOf(one.line)?.effect !== "reads" && !(one.operation in laterWrites),
);

/** The server of a case: the sandbox, or one with the lookups that it needs. */
async function target(one: WireCase) {
  const info = one.answers;
  if (!info) {
    server.seen.length = 0;
    return { env: appOf(one), seen: server.seen };
  }
  const { seen, env } = await stub(({ method, path }) => {
    const found = info.find((each) => each.method === method && each.path === path);
    return json(found?.json ?? {}, found?.status);
  });
  return { env: { ...appOf(one), ...env }, seen };
}

describe.each(writes)("$name", (one) => {
  const { method, path, json: body, multipart } = one.request;
  const request = { method, path: decodeURI(path), ...(body !== undefined && { json: body }) };

  test("--dry-run prints the request of the fixture and sends no write", async () => {
    const { env, seen } = await target(one);
    const ran = await server.cli(typed(one, "--dry-run"), { env });
    expect(ran.exit, ran.err).toBe(0);
    expect(seen.filter((each) => each.method !== "GET")).toEqual([]);
    const shown = ran.out.split(/^(?=[A-Z]+ http)/m).at(-1) ?? "";
    const parts = multipart && { parts: multipart.map(partInDryRun) };
    expect(fromDryRun(shown)).toEqual({ ...request, ...parts });
  });

  test("--curl prints a command for the request of the fixture and sends no write", async () => {
    const { env, seen } = await target(one);
    const ran = await server.cli(typed(one, "--curl"), { env });
    expect(ran.exit, ran.err).toBe(0);
    expect(seen.filter((each) => each.method !== "GET")).toEqual([]);
    const shown = ran.out.split(/^(?=curl )/m).at(-1) ?? "";
    const parts = multipart && { parts: multipart.map((part) => partInCurl(part, one.name)) };
    expect(fromCurl(shown)).toEqual({ ...request, ...parts });
  });
});

interface Shown {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
  readonly parts?: readonly unknown[];
}

const parsed = (text: string): unknown => JSON.parse(text);

/** A part as a dry run prints it: a file with its name, media type and size. */
const partInDryRun = ({ name, text, json: data, filename, type, content = "" }: WirePart) =>
  filename === undefined
    ? { name, value: data ?? text }
    : { name, filename, type, bytes: new TextEncoder().encode(content).length };

const partInCurl = ({ name, text, json: data, filename, type }: WirePart, folderOfCase: string) =>
  filename === undefined
    ? { name, value: data ?? text }
    : { name, path: join(place, folderOfCase, filename), filename, type };

const pathOf = (url: string) => decodeURI(new URL(url).pathname);

const valueOf = (name: string, text: string) => ({
  name,
  value: name === "data" ? parsed(text) : text,
});

function fromDryRun(text: string): Shown {
  const [head = "", ...blocks] = text.trimEnd().split("\n\n");
  const [, method = "", url = ""] = /^(\S+) (\S+)/.exec(head) ?? [];
  if (!head.includes("multipart/form-data")) {
    return {
      method,
      path: pathOf(url),
      ...(blocks[0] !== undefined && { json: parsed(blocks.join("\n\n")) }),
    };
  }
  const parts = blocks.map((block) => {
    const file = /^part (\w+): file (".*"), (\S+), (\d+) bytes$/.exec(block);
    const [, name = "", filename = "", type, bytes] = file ?? [];
    if (file) return { name, filename: parsed(filename), type, bytes: Number(bytes) };
    const [, field = "", value = ""] = /^part (\w+)\n(.*)$/s.exec(block) ?? [];
    return valueOf(field, value);
  });
  return { method, path: pathOf(url), parts };
}

/** Parses the command with a real shell, which also verifies the quoting. */
function fromCurl(text: string): Shown {
  const script = `curl() { printf '%s\\0' "$@"; }\n${text}`;
  const { stdout } = spawnSync("sh", ["-c", script], {
    encoding: "utf8",
    env: { KB_KEY: "k", KB_APP_KEY: "k" },
  });
  const words = stdout.split("\0").slice(0, -1);
  const after = (flag: string) => words.filter((_, at) => words[at - 1] === flag);
  const [data] = after("--data-binary");
  const files = after("-F").map((word) => {
    const [, name, path = "", filename = "", type] =
      /^(\w+)=@"(.*)";filename="(.*)";type=(.*)$/s.exec(word) ?? [];
    const bare = (quoted: string) => quoted.replace(/\\(["\\])/g, "$1");
    return { name, path: bare(path), filename: bare(filename), type };
  });
  const texts = after("--form-string").map((word) => {
    const at = word.indexOf("=");
    return valueOf(word.slice(0, at), word.slice(at + 1));
  });
  return {
    method: after("-X")[0] ?? "GET",
    path: pathOf(words.find((word) => word.startsWith("http:")) ?? ""),
    ...(data !== undefined && { json: parsed(data) }),
    ...(files.length + texts.length > 0 && { parts: [...files, ...texts] }),
  };
}

const stream = (...events: readonly unknown[]): Answer => ({
  status: 200,
  type: "text/event-stream",
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
});

/** Responses that are not recorded, from the API's documentation: by `METHOD /path`, with the stream if any. */
const documented: Readonly<Record<string, readonly [blocking: Answer, streamed?: Answer]>> = {
  "GET /datasets/{dataset_id}/pipeline/datasource-plugins": [
    json([{ node_id: "1", title: "File", datasource_type: "local_file" }]),
  ],
  "POST /datasets/{dataset_id}/pipeline/datasource/nodes/{node_id}/run": [
    stream({ event: "datasource_completed", data: [] }),
  ],
  "POST /datasets/{dataset_id}/pipeline/run": [
    json({ task_id: "1", data: { id: "2", status: "succeeded", outputs: {} } }),
    stream({ event: "workflow_finished", data: { status: "succeeded" } }),
  ],
  "GET /messages/{message_id}/suggested": [json({ result: "success", data: ["Why?", "When?"] })],
  "POST /completion-messages": [
    json({ message_id: "1", answer: "Hi" }),
    stream({ event: "message", answer: "Hi" }, { event: "message_end" }),
  ],
  "POST /completion-messages/{task_id}/stop": [json({ result: "success" })],
  "POST /audio-to-text": [json({ text: "hello" })],
  "GET /apps/annotation-reply/{action}/status/{job_id}": [
    json({ job_id: "1", job_status: "completed", error_msg: "" }),
  ],
  "POST /workflows/{workflow_id}/run": [
    json({ task_id: "1", workflow_run_id: "2", data: { id: "2", status: "succeeded" } }),
    stream(
      { event: "workflow_started", task_id: "1", workflow_run_id: "2", data: { id: "2" } },
      { event: "workflow_finished", workflow_run_id: "2", data: { id: "2", status: "succeeded" } },
    ),
  ],
  "POST /chat-messages": [json({ message_id: "1", conversation_id: "2", answer: "Hi" })],
};

const fits = (template: string, path: string) =>
  new RegExp(`^/v1${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);

/** A page that announces another one: the stub would return it forever. */
const hasMore = (body: unknown): boolean =>
  typeof body === "object" && body !== null && "has_more" in body && body.has_more === true;

/** Default response to a request: a recorded success, or the documented one. */
function defaultResponse({ method, path, body }: Arrived): Answer {
  const streams = body.includes('"response_mode":"streaming"') || path.endsWith("/events");
  const routes = operations
    .map(({ route }) => route)
    .filter((route) => route.startsWith(`${method} `) && fits(methodAndPath({ route })[1], path));
  // A route without placeholders goes first: /datasets/tags before /datasets/{dataset_id}.
  const route = routes.find((each) => each === `${method} ${path.slice(3)}`) ?? routes[0] ?? "";
  const recorded = exchanges.find(
    (exchange) =>
      exchange.request?.method === method &&
      exchange.response.status < 300 &&
      streams === streamed(exchange) &&
      !hasMore(exchange.response.body) &&
      fits(methodAndPath({ route })[1], exchange.request.path.replace(/\?.*$/, "")),
  );
  const [blocking, asStream = blocking] = documented[route] ?? [];
  if (!recorded)
    return (streams ? asStream : blocking) ?? json({ message: `no response for ${route}` }, 599);
  const { "content-type": type = "application/json" } = headersOf(recorded);
  return { status: recorded.response.status, type, body: bodyText(recorded) };
}

/** Parameters of a workflow with the input `query`. */
const echo = {
  info: json({ name: "Echo", mode: "workflow" }),
  parameters: json({ user_input_form: [{ "text-input": { variable: "query", required: true } }] }),
};

/** Responses that a command needs to succeed. */
const needed: Readonly<Record<string, Readonly<Record<string, Answer>>>> = {
  toggleBuiltInMetadataField: {
    metadata: json({ doc_metadata: [], built_in_field_enabled: true }),
  },
  executeWorkflow: echo,
  runWorkflowById: echo,
};

const printing = fixtures.filter(({ cases: [first] }) => {
  const kind = commandOf(first?.line ?? [])?.returns.kind;
  return kind !== "nothing" && kind !== "file";
});

const prints = printing.flatMap(({ operation: id, cases: [first] }) =>
  formats.map((format) => ({ id, first, format })),
);

test.each(sampled(20, prints))(
  "prints the response of $id as $format",
  async ({ id, first, format }) => {
    const one = { name: `${id} 1`, line: [], request: { method: "", path: "" }, ...first };
    const { env } = await stub((request) => {
      const own = one.answers?.find(
        ({ method, path }) => method === request.method && path === request.path,
      );
      const last = request.path.split("/").at(-1) ?? "";
      return own ? json(own.json, own.status) : (needed[id]?.[last] ?? defaultResponse(request));
    });
    const ran = await server.cli(typed(one, "-o", format), { env: { ...appOf(one), ...env } });
    expect(ran.exit, ran.err).toBe(0);
    if (format === "json") expect(() => parsed(ran.out)).not.toThrow();
    if (format === "jsonl") {
      for (const line of ran.out.split("\n").slice(0, -1)) expect(() => parsed(line)).not.toThrow();
    }
  },
);

/** A value that the table allows. */
function right(param: Param): string {
  switch (param.kind) {
    case "uuid":
    case "ref":
      return "11111111-1111-4111-8111-111111111111";
    case "integer":
    case "number":
      return String(param.range?.[0] ?? 1);
    case "choice":
      return param.choices?.[0] ?? "";
    case "json":
      return JSON.stringify(fitting(param.shape ?? { kind: "any" }));
    case "file":
    case "content":
      return join(place, "files", "a.md");
    case "time":
      return "now";
    case "duration":
      return "1s";
    case "flag":
      return "true";
    case "text":
      return "x".repeat(Math.max(1, param.length?.[0] ?? 1));
  }
}

/** The smallest JSON value that a shape allows. */
function fitting(shape: Shape): unknown {
  switch (shape.kind) {
    case "any":
      return null;
    case "flag":
      return true;
    case "number":
      return 1;
    case "integer":
      return shape.range?.[0] ?? 1;
    case "text":
      return shape.choices?.[0] ?? "x";
    case "list":
      return Array.from({ length: shape.length?.[0] ?? 0 }, () => fitting(shape.of));
    case "object":
      return Object.fromEntries(
        Object.entries(shape.fields ?? {})
          .filter(([, field]) => field.required)
          .map(([name, field]) => [name, fitting(field)]),
      );
  }
}

/** JSON values of another shape. */
function wrongShapes(shape: Shape | undefined): string[] {
  if (shape?.kind === "object") return ["[]"];
  return shape?.kind === "list" ? ["{}"] : [];
}

/** Values that the table forbids. */
function wrong(param: Param): string[] {
  const { range, length, shape } = param;
  const step = param.kind === "integer" ? 1 : 0.01;
  return [
    ...(param.kind === "uuid" ? ["abc", "11111111-1111-4111-8111-1111111111111"] : []),
    ...(param.kind === "choice" ? ["no such choice", ""] : []),
    ...(param.kind === "integer" ? ["1.5", "many"] : []),
    ...(param.kind === "number" ? ["much", ""] : []),
    ...(param.kind === "time" ? ["someday"] : []),
    ...(param.kind === "duration" ? ["soon"] : []),
    ...(param.kind === "json" ? ["{", ...wrongShapes(shape)] : []),
    ...(range ? [String(range[0] - step), String(range[1] + step)] : []),
    // The length of a file parameter is that of the file name.
    ...(length && !param.many && param.kind !== "file"
      ? ["x".repeat(length[1] + 1), ...(length[0] > 0 ? [""] : [])]
      : []),
  ];
}

const wrongLines = commands
  .filter(({ words, sends }) => words[0] === "kb" || sends.length > 0)
  .flatMap((command) =>
    Object.entries(command.params)
      .filter(([, param]) => param.from !== "user")
      .flatMap(([name, param]) =>
        wrong(param).map((value) => {
          const positional = command.positionals.find((each) => each.name === name);
          const label = positional ? `<${positional.word}>` : `--${flagOf(name, param)}`;
          const title = `${command.words.join(" ")} ${label} ${JSON.stringify(value.slice(0, 40))}`;
          return { title, command, name, label, value };
        }),
      ),
  );

test.each(sampled(20, wrongLines))(
  "rejects $title and sends nothing",
  async ({ command, name, label, value }) => {
    const flags = flagParams(command).flatMap(([each, param]) => {
      if (each !== name && !param.required) return [];
      const flag = `--${flagOf(each, param)}`;
      return param.kind === "flag" ? [flag] : [`${flag}=${each === name ? value : right(param)}`];
    });
    const positionals = command.positionals
      .filter((each) => !each.optional || each.name === name)
      .map((each) => (each.name === name ? value : right(command.params[each.name] as Param))); // a positional names a parameter
    server.seen.length = 0;
    const ran = await server.cli([...command.words, ...flags, "--", ...positionals]);
    expect(ran.exit, ran.err).toBe(2);
    expect(ran.err).toContain(`error: ${label}`);
    expect(ran.out).toBe("");
    expect(server.seen).toEqual([]);
  },
);
