import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { readRequest } from "../../src/sandbox/http/exchange.ts";
import type { ReceivedRequest } from "../../src/sandbox/http/server.ts";
import { testSandbox, type TestSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { appOf, wireFixtures } from "../lib/wire-fixtures.ts";
import type { WireCase, WireRequest } from "../lib/wire-fixtures.ts";
import { listening } from "../lib/listening.ts";

const cases = [...wireFixtures.values()].flatMap(({ operation, cases: lines }) =>
  lines.map((each, index) => [`${operation} ${index + 1}`, each] as const),
);

let server: TestSandbox;
let directory = "";
beforeAll(async () => {
  server = await testSandbox();
  directory = await temporaryDirectory();
});

test("every operation has a fixture, and every fixture an operation", () => {
  expect([...wireFixtures.keys()].sort()).toEqual(
    [...new Set(operations.map(({ id }) => id))].sort(),
  );
});

/** Sorts by name: only the order of values of the same parameter matters. */
const sorted = (query: readonly (readonly [string, string])[]) =>
  [...query].sort(([a], [b]) => Number(a > b) - Number(a < b));

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function toWirePart({ name, filename, type, bytes }: ReceivedRequest["parts"][number]) {
  const content = textOf(bytes);
  if (filename !== undefined) return { name, filename, type, content };
  return name === "data" ? { name, json: JSON.parse(content) as unknown } : { name, text: content };
}

/** Converts a received request to the format of a fixture. */
function toWire(request: ReceivedRequest): WireRequest {
  const [path = "", query] = request.path.split(/\?(.*)/s);
  const type = request.headers["content-type"] ?? "";
  return {
    method: request.method,
    path: decodeURI(path),
    ...(query && { query: sorted([...new URLSearchParams(query)]) }),
    ...(type.includes("application/json") && { json: JSON.parse(textOf(request.body)) as unknown }),
    ...(request.parts.length > 0 && {
      multipart: request.parts.map(toWirePart),
    }),
  };
}

describe.each(cases)("%s", (_, { line, request, files = {}, answers }) => {
  test("sends exactly the request of its fixture", async () => {
    const inside = join(directory, "files");
    mkdirSync(inside, { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(inside, name), content);
    const argv = line.map((word) =>
      word.replace(/\{file:([^}]+)\}/g, (__, name: string) => join(inside, name)),
    );
    const app = argv[0] === "wf" && !argv.includes("--app") ? { KB_APP: appOf(request.path) } : {};
    const canned = answers && (await cannedServer(answers));
    server.seen.length = 0;
    const ran = await server.cli(argv, {
      env: { ...app, ...(canned && { KB_BASE_URL: canned.baseUrl }) },
    });
    const received = (canned?.seen ?? server.seen).map(toWire);
    const expected = {
      ...request,
      path: decodeURI(request.path),
      ...(request.query && { query: sorted(request.query) }),
    };
    expect(
      received.some(({ method, path }) => method === expected.method && path === expected.path),
      `${ran.err} ${JSON.stringify(received)}`,
    ).toBe(true);
    expect(
      received
        .filter(({ method, path }) => method === expected.method && path === expected.path)
        .at(-1),
    ).toEqual(expected);
  });
});

/** A server that sends the responses of a case and records the requests. */
async function cannedServer(answers: NonNullable<WireCase["answers"]>) {
  const seen: ReceivedRequest[] = [];
  const listener = createServer((request, response) => {
    void readRequest(request).then((received) => {
      seen.push(received);
      const bare = received.path.replace(/\?.*$/, "");
      const answer = answers.find(
        ({ method, path }) => method === received.method && path === bare,
      );
      response.writeHead(answer?.status ?? 200, {
        "content-type": "application/json",
        ...answer?.headers,
      });
      response.end(JSON.stringify(answer?.json ?? {}));
    });
  });
  const baseUrl = await listening(listener);
  return { seen, baseUrl };
}
