import { execFileSync, spawn } from "node:child_process";
import { cpSync, readFileSync, readdirSync } from "node:fs";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { spawnChild } from "../../src/host/child-process.ts";
import { createDispatcher } from "../../src/host/dispatcher.ts";
import type { RawHost } from "../../src/host/host.ts";
import { afterFile } from "../lib/cleanup.ts";
import { actions, contentsOf } from "../lib/directory.ts";
import { listening } from "../lib/listening.ts";
import { root } from "../lib/paths.ts";
import { findRclone } from "../lib/rclone.ts";
import { bin } from "../lib/shell.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import type { World } from "../lib/support.ts";
import { turns } from "../lib/turns.ts";

const rclone = await findRclone();
const place = await temporaryDirectory();
const tree = join(place, "tree");
cpSync(join(root, "examples", "handbook"), join(tree, "bucket", "handbook"), { recursive: true });
const directory = join(tree, "bucket", "handbook");
await mkdir(join(directory, "more"));
await writeFile(join(directory, "more", "prices.csv"), "a,b\n1,ü\n");

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Serves the tree with rclone itself; returns the port. */
async function serve(kind: string, ...flags: readonly string[]): Promise<number> {
  const port = await freePort();
  const line = ["serve", kind, tree, "--addr", `127.0.0.1:${port}`, ...flags];
  const child = spawn(rclone, line, { stdio: ["ignore", "ignore", "pipe"] });
  afterFile(() => void child.kill());
  let said = "";
  await new Promise<void>((resolve) => {
    child.stderr.on("data", (data: Buffer) => {
      said += data.toString();
      if (/listening|serving|starting|started/i.test(said)) resolve();
    });
  });
  return port;
}

const obscured = execFileSync(rclone, ["obscure", "password"], { encoding: "utf8" }).trim();
const [s3, webdav, sftp] = [
  await serve("s3", "--auth-key", "ACCESSKEY12345,SECRETKEY12345", "-v"),
  await serve("webdav", "-v"),
  await serve("sftp", "--user", "user", "--pass", "password", "-v"),
];

const remotes = {
  RCLONE_CONFIG_S_TYPE: "s3",
  RCLONE_CONFIG_S_PROVIDER: "Other",
  RCLONE_CONFIG_S_ENDPOINT: `http://127.0.0.1:${s3}`,
  RCLONE_CONFIG_S_ACCESS_KEY_ID: "ACCESSKEY12345",
  RCLONE_CONFIG_S_SECRET_ACCESS_KEY: "SECRETKEY12345",
  RCLONE_CONFIG_W_TYPE: "webdav",
  RCLONE_CONFIG_W_URL: `http://127.0.0.1:${webdav}`,
  RCLONE_CONFIG_F_TYPE: "sftp",
  RCLONE_CONFIG_F_HOST: "127.0.0.1",
  RCLONE_CONFIG_F_PORT: String(sftp),
  RCLONE_CONFIG_F_USER: "user",
  RCLONE_CONFIG_F_PASS: obscured,
};

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const env = {
  ...remotes,
  PATH: `${dirname(rclone)}${delimiter}${process.env["PATH"]}`,
  HOME: home,
};
const world: World = {
  folder: home,
  spawn: spawnChild,
  env,
  around: (host) => ({ ...host, dispatcher: (settings) => createDispatcher(settings, {}) }),
};
const run = (...argv: readonly string[]) => server.cli(["kb", ...argv], world);

/** A git repository with the tree. */
async function repository(): Promise<string> {
  const path = join(place, "repository");
  await mkdir(path);
  cpSync(directory, join(path, "handbook"), { recursive: true });
  const git = (...args: readonly string[]) => execFileSync("git", ["-C", path, ...args]);
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("-c", "user.name=Ann", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x");
  return `git+file://${path}#main:handbook`;
}

const writes = (from: number) =>
  server.seen
    .slice(from)
    .filter(({ method, path }) => method !== "GET" && !/download-zip|\/metadata/.test(path))
    .map(({ method, path }) => `${method} ${path}`);

test("a directory, git, a program and rclone with S3, WebDAV and SFTP give the same documents", async () => {
  const kb = (
    await run("create", "Same", "--indexing-technique", "economy", "-o", "name")
  ).out.trim();
  const first = await run("sync", kb, directory);
  expect(first.exit, first.err).toBe(0);
  const documents = await contentsOf(server.sandbox.origin, kb);
  expect(documents.size).toBe(readdirSync(directory, { recursive: true }).length - 1);
  const sample = join(root, "examples", "sources", "directory.mjs");
  const program = `exec:'${process.execPath}' '${sample}' '${directory}'`;
  const places = ["s:bucket/handbook", "w:bucket/handbook", "f:bucket/handbook"];
  const sources = [
    program,
    await repository(),
    ...places.map((each) => `rclone:${each}`),
    directory,
  ];
  for (const source of sources) {
    const from = server.seen.length;
    const adopted = await run("sync", kb, source, "--adopt", "--prune");
    expect(adopted.exit, `${source}: ${adopted.out}${adopted.err}`).toBe(0);
    expect(actions(adopted.out).filter((row) => !row.startsWith("adopt "))).toEqual([]);
    expect(writes(from), source).toEqual([]);
    const again = await run("sync", kb, source, "--prune");
    expect(again.err, source).toContain(`${documents.size} files: ${documents.size} unchanged`);
    expect(await contentsOf(server.sandbox.origin, kb)).toEqual(documents);
    // The same, from nothing.
    const name = `From ${sources.indexOf(source)}`;
    const alone = (
      await run("create", name, "--indexing-technique", "economy", "-o", "name")
    ).out.trim();
    const created = await run("sync", alone, source);
    expect(created.exit, `${source}: ${created.err}`).toBe(0);
    expect(await contentsOf(server.sandbox.origin, alone)).toEqual(documents);
  }
  expect(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })).not.toMatch(/rclone rcd/);
  await turns();
});

const create = async (name: string) =>
  (await run("create", name, "--indexing-technique", "economy", "-o", "name")).out.trim();

test("1,000 unchanged objects of rclone are not read", async () => {
  const many = join(place, "many");
  await mkdir(many);
  const paths = Array.from({ length: 1000 }, (_, index) => join(many, `${index}.md`));
  const time = new Date("2026-01-01T00:00:00Z");
  const fill = async (text: string) => {
    for (const path of paths) {
      await writeFile(path, text);
      await utimes(path, time, time);
    }
  };
  const local = (...argv: readonly string[]) =>
    server.cli(["kb", ...argv], { ...world, env: { ...env, RCLONE_CONFIG_L_TYPE: "local" } });
  await fill("before");
  const kb = await create("Many");
  const first = await local("sync", kb, `rclone:l:${many}`);
  expect(first.exit, first.err).toBe(0);
  // Another content that the list does not show: reading one of them would be an update.
  await fill("hidden");
  const from = server.seen.length;
  const second = await local("sync", kb, `rclone:l:${many}`, "--prune");
  expect(second.err).toContain("1,000 files: 1,000 unchanged");
  expect(writes(from)).toEqual([]);
});

test("without a Unix socket, rclone listens for us alone, with a password", async () => {
  const folder = join(home, "deep".repeat(25));
  const kb = await create("Loopback");
  const dispatcher = (settings: Parameters<typeof createDispatcher>[0]) =>
    createDispatcher(settings, settings.isDirect ? { HTTP_PROXY: "http://127.0.0.1:1" } : {});
  const around = (host: RawHost): RawHost => ({ ...host, dispatcher });
  const deep = { ...world, folder, around };
  const ran = await server.cli(["kb", "sync", kb, "rclone:w:bucket/handbook"], deep);
  expect(ran.exit, ran.err).toBe(0);
  expect((await contentsOf(server.sandbox.origin, kb)).size).toBeGreaterThan(10);

  const seen: { readonly status: number; readonly lines: string }[] = [];
  const url = await listening(
    createServer((_, response) => {
      const lines = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
      const log = /--log-file (\S*deepdeep\S*)/.exec(lines)?.[1] ?? "";
      const [at = ""] = /http:\S*:\d+/.exec(readFileSync(log, "utf8")) ?? [];
      void fetch(`${at}/rc/noop`, { method: "POST" }).then(({ status }) => {
        seen.push({ status, lines });
        response.writeHead(404).end();
      });
    }),
  );
  const more = { env: { ...env, RCLONE_CONFIG_W_URL: url } };
  const failed = await server.cli(["kb", "sync", kb, "rclone:w:x"], { ...deep, ...more });
  expect(failed.exit).not.toBe(0);
  expect(seen[0]?.status).toBe(401);
  expect(seen[0]?.lines).not.toContain("RCLONE_RC_PASS");
  expect(readdirSync(join(folder, "cache")).filter((name) => name.startsWith("rclone"))).toEqual(
    [],
  );
});

test("rclone ends when kb is killed, and leaves nothing", async () => {
  const kb = await create("Killed");
  const own = await temporaryDirectory();
  let child: ReturnType<typeof spawn> | undefined;
  let lines = "";
  // A remote that does not answer: its connection ends with rclone.
  const ended = new Promise<void>((resolve) => {
    const remote = createServer(({ socket }) => {
      socket.on("close", () => resolve());
      lines = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
      child?.kill("SIGKILL");
    });
    void listening(remote).then((url) => {
      const variables = { ...env, ...server.env, RCLONE_CONFIG_W_URL: url, KB_CACHE_DIR: own };
      const line = [bin("kb"), "sync", kb, "rclone:w:x"];
      child = spawn(process.execPath, line, { env: variables, stdio: "ignore" });
    });
  });
  await ended;
  const started = lines.split("\n").filter((line) => /^rclone rcd .*kb-test/.test(line));
  expect(started).toEqual([expect.stringMatching(/--rc-no-auth --rc-addr=unix:\S+\/s$/)]);
  expect(readdirSync(own).filter((name) => name.startsWith("rclone"))).toEqual([]);
});
