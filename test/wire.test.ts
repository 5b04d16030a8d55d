import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { operations } from "../src/operations/index.ts";
import type { SeenRequest } from "../src/sandbox/server.ts";
import { testSandbox } from "./sandbox.ts";
import type { TestSandbox } from "./sandbox.ts";
import { temporaryFolder } from "./support.ts";

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
}

const folder = join(import.meta.dirname, "wire");
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

/** A received request in the words of a fixture. */
function seenAs(request: SeenRequest): Wire {
  const [path = "", query] = request.path.split(/\?(.*)/s);
  const type = request.headers["content-type"] ?? "";
  const text = new TextDecoder().decode(request.body);
  return {
    method: request.method,
    path: decodeURI(path),
    ...(query && { query: [...new URLSearchParams(query)] }),
    ...(type.includes("application/json") && { json: JSON.parse(text) as unknown }),
    ...(request.parts && {
      multipart: request.parts.map((part) =>
        part.filename === undefined
          ? part.name === "data"
            ? { name: "data", json: JSON.parse(part.text) as unknown }
            : { name: part.name, text: part.text }
          : { name: part.name, filename: part.filename, content: part.text },
      ),
    }),
  };
}

describe.each(cases)("%s", (_, { line, request, files = {} }) => {
  test("sends exactly the request of its fixture", async () => {
    const inside = join(place, "files");
    mkdirSync(inside, { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(inside, name), content);
    const argv = line.map((word) =>
      word.replace(/\{file:([^}]+)\}/g, (__, name: string) => join(inside, name)),
    );
    server.seen.length = 0;
    const app = argv[0] === "wf" && !argv.includes("--app") ? { KB_APP: appFor(request.path) } : {};
    const ran = await server.cli(argv, { env: app });
    const received = server.seen.map(seenAs);
    const wanted = { ...request, path: decodeURI(request.path) };
    expect(
      received.some(({ method, path }) => method === wanted.method && path === wanted.path),
      `${ran.err} ${JSON.stringify(received)}`,
    ).toBe(true);
    expect(
      received
        .filter(({ method, path }) => method === wanted.method && path === wanted.path)
        .at(-1),
    ).toEqual(wanted);
  });
});

/** The application of the sandbox that a route belongs to. */
const appFor = (path: string): string =>
  /chat|conversation|message|completion|annotation|feedback|audio|files/.test(path)
    ? "chat"
    : "echo";
