import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import { contentsOf, write } from "./directory.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import type { ReceivedRequest } from "../../src/sandbox/http/server.ts";
import { seeded } from "./seeded.ts";
import type { TestSandbox } from "./sandbox.ts";
import { root } from "./paths.ts";

/** Starts a built program. */
export function start(
  server: TestSandbox,
  home: string,
  argv: readonly string[],
  program: string = "kb",
) {
  const bin = join(root, "bin", `${program}.js`);
  const child = spawn(process.execPath, [bin, ...argv], {
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      // as a command of the tests with this folder has them
      KB_STATE_DIR: join(home, "state"),
      KB_CACHE_DIR: join(home, "cache"),
      ...server.env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const ended = once(child, "close").then(([exit]) => ({ exit: exit as number | null, err }));
  return { child, ended };
}

const isUpload = ({ method, path }: Pick<ReceivedRequest, "method" | "path">): boolean =>
  (method === "POST" && /create-by|update-by/.test(path)) || method === "PATCH";

/**
 * Repeatedly syncs a changing directory and kills the program after a random number of requests; one
 * more sync must make the knowledge base equal to the directory, without a conflict.
 */
export async function syncWithKills(
  server: TestSandbox,
  home: string,
  seed: number,
  kills: number,
): Promise<void> {
  const random = seeded(seed);
  const dir = join(home, `kills ${seed}`);
  const made = await server.cli([
    "kb",
    "create",
    `Kills ${seed}`,
    "--indexing-technique",
    "economy",
    "-o",
    "name",
  ]);
  const kb = made.out.trim();
  const tree: Record<string, string> = {};
  const change = async () => {
    const changes: Record<string, string | null> = {};
    for (let count = 0; count < 6; count++) {
      const path = `${Math.floor(random() * 4)}/${Math.floor(random() * 6)}.md`;
      changes[path] = tree[path] = `text ${Math.floor(random() * 1e9)}`;
    }
    const [gone] = Object.keys(tree);
    if (gone !== undefined && changes[gone] === undefined) {
      delete tree[gone];
      changes[gone] = null;
    }
    await write(dir, changes);
  };
  for (let turn = 0; turn < kills; turn++) {
    await change();
    const after = server.seen.length + Math.floor(random() * 14);
    const { child, ended } = start(server, home, ["sync", kb, dir, "--prune", "--yes"]);
    const watch = setInterval(() => {
      if (server.seen.length >= after) child.kill("SIGKILL");
    }, 1);
    await ended;
    clearInterval(watch);
    for (const [name, { text, hash }] of await contentsOf(server.sandbox.origin, kb)) {
      // At any moment of the kill, a valid hash is that of the content.
      if (/^[0-9a-f]{64}$/.test(String(hash)))
        expect(hash, `${name} after kill ${turn} of seed ${seed}`).toBe(await sha256(text));
    }
  }
  await change();
  const before = server.seen.length;
  const last = await start(server, home, ["sync", kb, dir, "--prune", "--yes"]).ended;
  expect(last.exit, last.err).toBe(0);
  const uploads = server.seen.slice(before).filter(isUpload).length;
  const found = await contentsOf(server.sandbox.origin, kb);
  expect(Object.fromEntries([...found].map(([name, { text }]) => [name, text]))).toEqual(tree);
  // Six files changed; in addition, at most the uploads that were open or unmarked at the kill.
  expect(uploads).toBeLessThanOrEqual(Object.keys(tree).length);
  const again = server.seen.length;
  expect((await start(server, home, ["sync", kb, dir, "--prune", "--yes"]).ended).exit).toBe(0);
  expect(server.seen.slice(again).filter(isUpload)).toEqual([]);
}

/** Syncs in concurrent shards, one of which is killed and started again. */
export async function syncInShards(
  server: TestSandbox,
  home: string,
  count: number,
  files: number,
): Promise<void> {
  const dir = join(home, `shards ${count}`);
  const made = await server.cli([
    "kb",
    "create",
    `Shards ${count}`,
    "--indexing-technique",
    "economy",
    "-o",
    "name",
  ]);
  const kb = made.out.trim();
  const tree = Object.fromEntries(
    Array.from({ length: files }, (_, at) => [`${at % 7}/${at}.md`, `text ${at}`]),
  );
  await write(dir, tree);
  const shard = (index: number) =>
    start(server, home, ["sync", kb, dir, "--shard", `${index}/${count}`]);
  const all = Array.from({ length: count }, (_, at) => shard(at + 1));
  const begun = server.seen.length;
  const watch = setInterval(() => {
    if (server.seen.slice(begun).filter(isUpload).length > files / 3) all[1]?.child.kill("SIGKILL");
  }, 1);
  const ends = await Promise.all(all.map(({ ended }) => ended));
  clearInterval(watch);
  for (const [at, { exit, err }] of ends.entries()) if (at !== 1) expect(exit, err).toBe(0);
  const restarted = await shard(2).ended;
  expect(restarted.exit, restarted.err).toBe(0);
  const found = await contentsOf(server.sandbox.origin, kb);
  expect(Object.fromEntries([...found].map(([name, { text }]) => [name, text]))).toEqual(tree);
  // Each file once, plus the open upload of the killed shard.
  const uploads = server.seen.slice(begun).filter(isUpload).length;
  expect(uploads).toBeLessThanOrEqual(files + 1);
}

/** An export with what a killed import could double or lose: documents of one name, values, a status. */
export async function exportToKill(server: TestSandbox, home: string, name: string) {
  const dir = join(home, name);
  const run = async (...argv: readonly string[]) => {
    const { exit, err } = await server.cli(["kb", ...argv], { folder: home });
    expect(exit, `${argv.join(" ")}: ${err}`).toBe(0);
  };
  await run("create", name, "--indexing-technique", "economy");
  await write(dir, { "twice.txt": "first", "again/twice.txt": "second", "a.csv": "a,b\n1,2\n" });
  await run("doc", "add", name, "off.md", "--text", "disabled");
  await run("doc", "upload", name, join(dir, "twice.txt"));
  await run("doc", "upload", name, join(dir, "again/twice.txt"), "--no-duplicate");
  await run("doc", "upload", name, join(dir, "a.csv"));
  await run("doc", "wait", name);
  await run("doc", "disable", name, "off.md");
  await run("metadata", "create", name, "pages", "--type", "number");
  await run("metadata", "set", name, "off.md", "--set", "pages=2");
  await run("tag", "create", name);
  await run("tag", "bind", name, name);
  const bundle = join(home, `${name} export`);
  await run("export", name, bundle);
  return bundle;
}

/**
 * Kills an import or a copy after a number of requests and runs it again; it must end with a knowledge
 * base that has no differences from its source. Returns whether the kill was in time.
 */
export async function importWithKill(
  server: TestSandbox,
  home: string,
  { argv, source, requests }: { argv: readonly string[]; source: string; requests: number },
): Promise<boolean> {
  const name = `${source.slice(-20)} ${argv[0]} ${requests}`;
  const command = [...argv, "--name", name];
  server.sandbox.setFaults([parseFault("* * delay=200ms")]); // so that the kill is in time
  const after = server.seen.length + requests;
  const { child, ended } = start(server, home, command);
  const watch = setInterval(() => {
    if (server.seen.length >= after) child.kill("SIGKILL");
  }, 1);
  const killed = await ended;
  clearInterval(watch);
  server.sandbox.setFaults([]);
  if (killed.exit !== null) {
    expect(killed.exit, `${name}: ${killed.err}`).toBe(0);
    return false;
  }
  const again = await server.cli(["kb", ...command], { folder: home });
  expect(again.exit, `${name}: ${again.err}`).toBe(0);
  const chunks = argv.includes("--as-is") ? ["--chunks"] : [];
  const verify = ["kb", "verify", source, name, ...chunks];
  const verified = await server.cli(verify, { folder: home });
  expect(verified.exit, `${name}: ${verified.out}${verified.err}`).toBe(0);
  return true;
}

async function sha256(text: string): Promise<string> {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Buffer.from(sum).toString("hex");
}
