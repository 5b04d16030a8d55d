import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { seeded } from "../lib/seeded.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

const bin = join(root, "bin", "kb.js");
const count = 400;

const { cli, env, seen, sandbox } = await testSandbox();

interface Line {
  readonly row: number;
  readonly status: string;
  readonly id: string;
}

const linesOf = (out: string) =>
  out
    .split("\n")
    .slice(0, -1) // a kill may cut the last line
    .map((line) => JSON.parse(line) as Line);

/** Runs the built program; kills it after this many result lines. */
async function runs(path: string, home: string, killAfter: number) {
  const child = spawn(process.execPath, [bin, "tag", "rename", "--each", path, "-o", "jsonl"], {
    env: { ...env, PATH: process.env["PATH"], HOME: home, KB_STATE_DIR: join(home, "state") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close") as Promise<[code: number | null]>;
  let [out, err] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    if (out.split('"ok"').length > killAfter) child.kill("SIGKILL");
  });
  const [code] = await ended;
  return { code, err, lines: linesOf(out) };
}

const renamed = () =>
  seen
    .filter(({ method }) => method === "PATCH")
    .map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as { tag_id: string });

test.each([1, 2, 3])(
  "a batch of renames killed repeatedly renames every tag and never sends a finished row again (seed %d)",
  async (seed) => {
    const random = seeded(seed);
    const home = await temporaryDirectory();
    const ids: string[] = [];
    for (let index = 0; index < count; index++) {
      const name = `${seed} ${index}`;
      ids.push((await cli(["kb", "tag", "create", name, "-o", "name"])).out.trim());
    }
    const path = join(home, "renames.csv");
    const rows = ids.map((_, index) => `${seed} ${index},${seed} ${index} new\n`);
    await writeFile(path, `tag,name\n${rows.join("")}`);
    sandbox.setFaults([parseFault("PATCH /datasets/tags delay=100ms")]); // 2 ms of this clock

    const finished = new Set<string>();
    let kills = 0;
    for (;;) {
      const from = renamed().length;
      const { code, err, lines } = await runs(path, home, 20 + Math.floor(random() * 100));
      const sent = renamed().slice(from);
      expect(sent.filter(({ tag_id }) => finished.has(tag_id))).toEqual([]);
      expect(new Set(sent.map(({ tag_id }) => tag_id)).size).toBe(sent.length);
      for (const { id } of lines) finished.add(id);
      if (code === null) {
        kills++;
        continue;
      }
      expect(code, err).toBe(0);
      expect(lines).toHaveLength(count);
      expect(lines.every(({ status }) => status === "ok" || status === "skipped")).toBe(true);
      break;
    }
    sandbox.setFaults([]);
    expect(kills).toBeGreaterThan(1);

    const { out } = await cli(["kb", "tag", "list", "--json"]);
    const names = new Map(
      (JSON.parse(out) as { id: string; name: string }[]).map(({ id, name }) => [id, name]),
    );
    expect(ids.map((id) => names.get(id))).toEqual(ids.map((_, index) => `${seed} ${index} new`));
  },
);
