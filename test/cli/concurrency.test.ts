import { createServer, type ServerResponse } from "node:http";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import { write } from "../lib/directory.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { turns } from "../lib/turns.ts";
import { listening } from "../lib/listening.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();

async function rowsFile(name: string, count: number): Promise<string> {
  const path = join(folder, name);
  const rows = Array.from({ length: count }, (_, at) => `${name} ${at}\n`);
  await writeFile(path, `name\n${rows.join("")}`);
  return path;
}

test("a batch writes nothing but its journal", async () => {
  const written: string[] = [];
  const lock: typeof diskFiles.lock = (path, owner) => {
    written.push(path);
    return diskFiles.lock(path, owner);
  };
  const path = await rowsFile("locks", 3);
  await server.done(["kb", "tag", "create", "--each", path], { folder, files: { lock } });
  expect(written).toEqual([expect.stringMatching(/each-\w+\.jsonl\.lock$/)]);
});

test.each([
  [[], 3, 8],
  [["--concurrency", "2"], 2, 2],
  [["--concurrency", "12"], 3, 12],
])("with %j, rows are sent %d at a time first, then up to %d", async (flags, start, expected) => {
  let [round, left] = [start, 120];
  const sizes = new Set<number>();
  const open: ServerResponse[] = [];
  const tags = createServer(async (request, response) => {
    request.resume();
    if (open.push(response) !== Math.min(round, left)) return;
    await turns(2000); // a request too many would arrive now
    sizes.add(open.length);
    left -= open.length;
    round = Math.min(round + 1, expected);
    for (const each of open.splice(0))
      each.writeHead(200, { "content-type": "application/json" }).end('{"id":"one"}');
  });
  const baseUrl = await listening(tags);
  const path = await rowsFile(`up to ${expected}`, 120);
  await server.done(["kb", "tag", "create", "--each", path, ...flags], {
    folder,
    elapsed: () => 0, // every answer is quick
    env: { KB_BASE_URL: baseUrl },
  });
  expect([...sizes]).toEqual(Array.from({ length: expected - start + 1 }, (_, at) => start + at));
});

test("a shard of a suite begins with one run at a time", async () => {
  const runs: string[] = [];
  const isRun = ({ path }: { readonly path: string }) => path === "/v1/workflows/run";
  const { cli } = await testSandbox({
    onRequest: (request) => void (isRun(request) && runs.push("begins")),
    onResponse: (request) => void (isRun(request) && runs.push("ends")),
  });
  const tests = "abcd".replaceAll(/./g, "  - { name: $&, inputs: { query: $& } }\n");
  await write(folder, { "slow.yaml": `name: Slow\ntests:\n${tests}` });
  const suite = join(folder, "slow.yaml");
  const { exit, err } = await cli(["wf", "--app", "slow", "test", "run", suite, "--shard", "1/1"]);
  expect(exit, err).toBe(0);
  expect(runs.slice(0, 2)).toEqual(["begins", "ends"]);
});
