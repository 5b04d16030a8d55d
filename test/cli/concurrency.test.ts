import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import { afterFile } from "../lib/cleanup.ts";
import { write } from "../lib/directory.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();

async function rowsFile(name: string, count: number): Promise<string> {
  const path = join(folder, name);
  const rows = Array.from({ length: count }, (_, at) => `${name} ${at}\n`);
  await writeFile(path, `name\n${rows.join("")}`);
  return path;
}

test("a command that sends one request at a time takes no lock", async () => {
  const locked: string[] = [];
  const lock: typeof diskFiles.lock = (path, owner) => {
    locked.push(path);
    return diskFiles.lock(path, owner);
  };
  const world = { folder, files: { lock } };
  await server.done(["kb", "list"], world);
  await server.done(["kb", "tag", "create", "single"], world);
  expect(locked).toEqual([]);
  await server.done(["kb", "tag", "create", "--each", await rowsFile("locks", 3)], world);
  expect(locked).toContainEqual(expect.stringMatching(/connections.127\.0\.0\.1%3A\d+.slot\.10$/));
});

test("a state directory that cannot be written changes nothing but the report of -v", async () => {
  const readOnly = Object.assign(new Error("read-only"), { code: "EROFS", syscall: "mkdir" });
  const world = { folder, files: { makeDirectory: () => Promise.reject(readOnly) } };
  const ran = await server.done(
    ["kb", "tag", "create", "--each", await rowsFile("read-only", 5), "-v"],
    world,
  );
  expect(ran.err.match(/connections are not shared with other processes: /g)).toHaveLength(1);
});

test.each([
  [[], 8],
  [["--concurrency", "2"], 2],
  [["--concurrency", "12"], 12],
  [["--polite"], 1],
])("with %j, rows are sent up to %d at a time", async (flags, expected) => {
  let most = 0;
  const open: ServerResponse[] = [];
  const tags = createServer((request, response) => {
    request.resume();
    open.push(response);
    most = Math.max(most, open.length);
    // One after the other, when no more requests can be expected.
    setTimeout(() => {
      open.shift()?.writeHead(200, { "content-type": "application/json" }).end('{"id":"one"}');
    }, 20);
  });
  tags.listen(0, "127.0.0.1");
  await once(tags, "listening");
  afterFile(() => tags.close());
  const { port } = tags.address() as AddressInfo; // it listens on a port
  const path = await rowsFile(`up to ${expected}`, 120);
  await server.done(["kb", "tag", "create", "--each", path, ...flags], {
    folder,
    elapsed: () => 0, // every answer is quick
    env: { KB_BASE_URL: `http://127.0.0.1:${port}/v1` },
  });
  expect(most).toBe(expected);
});

test.each([
  [[], 0],
  [["--polite"], 5],
])("a sync with %j repeats a read before %d of its six uploads", async (flags, expected) => {
  const dir = join(folder, `polite ${expected}`);
  await write(
    dir,
    Object.fromEntries(
      ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md"].map((each) => [each, each]),
    ),
  );
  const name = `Polite ${expected}`;
  await server.done(["kb", "create", name, "--indexing-technique", "economy"]);
  let time = 0;
  const before = server.seen.length;
  // An hour passes whenever a program looks at the clock.
  await server.done(["kb", "sync", name, dir, "--no-wait", "--concurrency", "1", ...flags], {
    folder,
    elapsed: () => (time += 3_600_000),
  });
  const seen = server.seen.slice(before).map(({ method, path }) => `${method} ${path}`);
  const isCreate = (line: string) => line.includes("/create-by-");
  const between = seen.slice(seen.findIndex(isCreate), seen.findLastIndex(isCreate));
  expect(seen.filter(isCreate)).toHaveLength(6);
  expect(between.filter((line) => line.startsWith("GET"))).toHaveLength(expected);
});

test("the other commands are told how long the server wants no requests", async () => {
  let requests = 0;
  const busy = createServer((request, response) => {
    request.resume();
    const json = { "content-type": "application/json" };
    if (++requests === 1)
      response.writeHead(429, { ...json, "retry-after": "7" }).end('{"code":"too_many_requests"}');
    else response.writeHead(200, json).end('{"id":"one"}');
  });
  busy.listen(0, "127.0.0.1");
  await once(busy, "listening");
  afterFile(() => busy.close());
  const { port } = busy.address() as AddressInfo; // it listens on a port
  const written: string[] = [];
  const writeAtomic: typeof diskFiles.writeAtomic = async (path) => void written.push(path);
  const now = Date.parse("2026-11-22T00:00:00Z");
  await server.done(["kb", "tag", "create", "--each", await rowsFile("busy", 3)], {
    folder,
    now: () => new Date(now),
    files: { writeAtomic },
    env: { KB_BASE_URL: `http://127.0.0.1:${port}/v1` },
  });
  const pauses = written.filter((path) => path.includes("pause."));
  expect(pauses).toEqual([expect.stringContaining(`pause.${now + 7000}.`)]);
});
