import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { bin, shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { turns } from "../lib/turns.ts";

// Child processes end with their parent, have an output limit, and get none of its keys.

/** Child processes connect here, which shows when one starts and ends. */
const arrived: ((socket: Socket) => void)[] = [];
const server = createServer((socket) => {
  socket.on("error", () => {}); // it may be killed
  arrived.shift()?.(socket);
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
afterAll(() => server.close());
const { port } = server.address() as AddressInfo; // it listens on a port

/** A key command that connects to the server, as a grandchild behind a shell, and never ends. */
const hanging = `sh -c '"${process.execPath}" -e "require(\\"net\\").connect(${port})"; true'`;

const nowhere = "http://127.0.0.1:9/v1";
async function homeWith(key_command: string): Promise<string> {
  const home = await temporaryDirectory();
  await mkdir(join(home, ".config/kb"), { recursive: true });
  await writeFile(
    join(home, ".config/kb/profiles.json"),
    JSON.stringify({ default: "p", profiles: { p: { base_url: nowhere, key_command } } }),
  );
  return home;
}

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
  ["--timeout", 12],
] as const)("%s kills a key command that hangs, and its child processes", async (by, exit) => {
  const home = await homeWith(hanging);
  const begun = new Promise<Socket>((resolve) => arrived.push(resolve));
  const args = ["list", ...(by === "--timeout" ? [by, "1s"] : [])];
  const child = spawn(process.execPath, [bin("kb"), ...args], {
    env: { PATH: process.env["PATH"], HOME: home },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "close");
  const socket = await begun;
  const gone = once(socket.resume(), "close");
  if (by !== "--timeout") child.kill(by);
  expect(await ended).toEqual([exit, null]);
  await gone;
});

test("a key command that writes forever is killed", async () => {
  const ran = await shell("kb list", { HOME: await homeWith("yes") }).ended;
  expect(ran).toEqual({
    exit: 4,
    out: "",
    err: "error: the key command of profile p failed: it writes more than 65536 bytes\nhint: run it to see why: yes\n",
  });
});

/** Opens a pipe for writing: without blocking, which succeeds only once a program reads it. */
async function writerOf(fifo: string): Promise<FileHandle> {
  for (;;) {
    const file = await open(fifo, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null);
    if (file) return file;
    await turns();
  }
}

// A pipe without a writer does not keep the program from ending.

test.each([
  ["wf replay", "SIGINT", 130],
  ["kb tag create --each", "SIGTERM", 143],
  ["kb create x --body @", "--timeout", 12],
  ["kb list --ca-file", "--timeout", 12],
] as const)("%s with a pipe that has no writer is ended by %s", async (line, by, exit) => {
  const home = await temporaryDirectory();
  const fifo = join(home, "fifo");
  await shell('mkfifo "$FIFO"', { FIFO: fifo }).ended;
  const [program = "", ...args] = line.split(" ");
  const file = line.endsWith("@") ? `${args.pop()}${fifo}` : fifo;
  const timeout = by === "--timeout" ? [by, "1s"] : [];
  const child = spawn(process.execPath, [bin(program), ...args, file, ...timeout], {
    env: { PATH: process.env["PATH"], HOME: home, KB_BASE_URL: nowhere, KB_KEY: "dataset-x" },
    stdio: "ignore",
  });
  const ended = once(child, "close");
  if (by !== "--timeout") {
    const writer = await writerOf(fifo);
    child.kill(by);
    await writer.close();
  }
  expect(await ended).toEqual([exit, null]);
});

test("a named or unnamed pipe is read to its end, however late its writer opens it", async () => {
  const home = await temporaryDirectory();
  const script = `cd; mkfifo fifo; wf replay fifo
    echo '{"late":1}' | wf replay /dev/stdin; wf replay /dev/null`;
  const { ended } = shell(script, { HOME: home });
  const writer = await writerOf(join(home, "fifo"));
  await writer.write('{"late":1}\n');
  await writer.close();
  const { err } = await ended;
  expect(err.split("\n").filter((line) => line.startsWith("error:"))).toEqual([
    "error: fifo line 1: not an event; the file is not a recording of a run",
    "error: /dev/stdin line 1: not an event; the file is not a recording of a run",
    "error: /dev/null: no events found",
  ]);
});

test("child processes do not inherit keys", async () => {
  const home = await homeWith("env >seen; echo dataset-from-command");
  const keys = {
    KB_APP_KEY: "app-secret-0123",
    DIFY_API_KEY: "app-other-0123",
    KB_SANDBOX_APP_KEYS: "app-third-0123",
    KEPT: "as it is",
  };
  await shell("cd && kb list --retries 0", { HOME: home, ...keys }).ended;
  const seen = await readFile(join(home, "seen"), "utf8");
  expect(seen).toContain("KEPT=as it is\n");
  expect(seen).not.toMatch(/0123/);
  const inside = await shell("kb sandbox --ephemeral -- env", {
    HOME: home,
    KB_KEY: "dataset-secret-0123",
    KB_APP: "support",
    ...keys,
  }).ended;
  expect(inside.out).toMatch(/^KB_KEY=dataset-sandbox$/m);
  expect(inside.out).not.toMatch(/0123|^KB_APP=/m);
});
