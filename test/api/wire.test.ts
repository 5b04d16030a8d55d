import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { readRequest } from "../../src/sandbox/http/read-request.ts";
import type { ReceivedRequest } from "../../src/sandbox/http/server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";
import { temporaryFolder } from "../lib/support.ts";
import { wireFolder } from "../lib/paths.ts";

/** The request a line must send, written by hand from the API's documentation. */
interface Wire {
  readonly method: string;
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly json?: unknown;
  readonly multipart?: readonly Readonly<Record<string, unknown>>[];
}

interface Case {
  readonly line: readonly string[];
  readonly request: Wire;
  readonly files?: Readonly<Record<string, string>>;
  readonly task?: true;
  /** What a server answers to the look-ups that the case needs; absent: the sandbox. */
  readonly answers?: readonly {
    readonly method: string;
    readonly path: string;
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly json: unknown;
  }[];
}

const folder = wireFolder;
const fixtures = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map(
    (name) =>
      JSON.parse(readFileSync(join(folder, name), "utf8")) as { operation: string; cases: Case[] },
  );

const cases = fixtures.flatMap(({ operation, cases: lines }) =>
  lines.map((each, index) => [`${operation} ${index + 1}`, each] as const),
);

let server: TestSandbox;
let place = "";
beforeAll(async () => {
  server = await testSandbox();
  place = await temporaryFolder();
});

test("every operation has a fixture, and no fixture is without its operation", () => {
  expect(fixtures.map(({ operation }) => operation).sort()).toEqual(
    [...new Set(operations.map(({ id }) => id))].sort(),
  );
});

/** The order of different parameters means nothing; that of one repeated parameter stays. */
const sorted = (query: readonly (readonly [string, string])[]) =>
  [...query].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** A received request in the words of a fixture. */
function seenAs(request: ReceivedRequest): Wire {
  const [path = "", query] = request.path.split(/\?(.*)/s);
  const type = request.headers["content-type"] ?? "";
  return {
    method: request.method,
    path: decodeURI(path),
    ...(query && { query: sorted([...new URLSearchParams(query)]) }),
    ...(type.includes("application/json") && { json: JSON.parse(textOf(request.body)) as unknown }),
    ...(request.parts.length > 0 && {
      multipart: request.parts.map((part) =>
        part.filename === undefined
          ? part.name === "data"
            ? { name: "data", json: JSON.parse(textOf(part.bytes)) as unknown }
            : { name: part.name, text: textOf(part.bytes) }
          : {
              name: part.name,
              filename: part.filename,
              type: part.type,
              content: textOf(part.bytes),
            },
      ),
    }),
  };
}

describe.each(cases)("%s", (_, { line, request, files = {}, answers }) => {
  test("sends exactly the request of its fixture", async () => {
    const inside = join(place, "files");
    mkdirSync(inside, { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(inside, name), content);
    const argv = line.map((word) =>
      word.replace(/\{file:([^}]+)\}/g, (__, name: string) => join(inside, name)),
    );
    const app = argv[0] === "wf" && !argv.includes("--app") ? { KB_APP: appFor(request.path) } : {};
    const canned = answers && (await cannedServer(answers));
    server.seen.length = 0;
    const ran = await server.cli(argv, {
      env: { ...app, ...(canned && { KB_BASE_URL: canned.baseUrl }) },
    });
    const arrived = (canned?.seen ?? server.seen).map(seenAs);
    const wanted = {
      ...request,
      path: decodeURI(request.path),
      ...(request.query && { query: sorted(request.query) }),
    };
    expect(
      arrived.some(({ method, path }) => method === wanted.method && path === wanted.path),
      `${ran.err} ${JSON.stringify(arrived)}`,
    ).toBe(true);
    expect(
      arrived.filter(({ method, path }) => method === wanted.method && path === wanted.path).at(-1),
    ).toEqual(wanted);
  });
});

/** A server that answers what a case says, and remembers what it was asked. */
async function cannedServer(answers: NonNullable<Case["answers"]>) {
  const seen: ReceivedRequest[] = [];
  const listener = createServer((request, response) => {
    void readRequest(request).then((arrived) => {
      seen.push(arrived);
      const bare = arrived.path.replace(/\?.*$/, "");
      const answer = answers.find(({ method, path }) => method === arrived.method && path === bare);
      response.writeHead(answer?.status ?? 200, {
        "content-type": "application/json",
        ...answer?.headers,
      });
      response.end(JSON.stringify(answer?.json ?? {}));
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void listener.close());
  const { port } = listener.address() as AddressInfo; // a TCP server has no other kind
  return { seen, baseUrl: `http://127.0.0.1:${port}/v1` };
}

/** The application of the sandbox that a route belongs to. */
const appFor = (path: string): string =>
  /chat|conversation|message|completion|annotation|feedback|audio|files/.test(path)
    ? "chat"
    : "echo";
