/** The sandbox as a server: access, faults, and data on disk. */
import { cp, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import sqlite from "node-sqlite3-wasm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { methodAndPath } from "../../src/operations/operation.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { type ReceivedRequest, startSandbox } from "../../src/sandbox/http/server.ts";
import { manualClock } from "../lib/manual-clock.ts";
import { fileForm, openTestSandbox } from "../lib/sandbox-client.ts";

/** Sends exactly these headers; resolves to the status, "reset" or "cut". */
function raw(origin: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ readonly outcome: number | string; readonly text: string }>((resolve) => {
    let text = "";
    const outgoing = request(origin, { path, headers, agent: false }, (response) => {
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ outcome: response.statusCode ?? 0, text }));
      response.on("error", () => resolve({ outcome: "cut", text }));
    });
    outgoing.on("error", (error) => {
      const reset = "code" in error && error.code === "ECONNRESET";
      resolve({ outcome: reset ? "reset" : error.message, text });
    });
    outgoing.end();
  });
}

const key = { Authorization: "Bearer dataset-sandbox" };
const echoKey = { Authorization: "Bearer app-echo", "Content-Type": "application/json" };

describe("access", () => {
  test.each([
    ["own address", ["Host: 127.0.0.1:PORT"], 200],
    ["localhost", ["Host: LocalHost:PORT"], 200],
    ["IPv6 address", ["Host: [::1]:PORT"], 200],
    ["URL opened by hand", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: none"], 200],
    ["name of a web page", ["Host: evil.example:PORT"], 403],
    ["name that starts with localhost", ["Host: localhost.evil.example:PORT"], 403],
    ["name that ends with localhost", ["Host: evil.localhost:PORT"], 403],
    ["address 0.0.0.0", ["Host: 0.0.0.0:PORT"], 403],
    ["another port", ["Host: 127.0.0.1:1"], 403],
    ["no port", ["Host: 127.0.0.1"], 403],
    ["empty name", ["Host: "], 403],
    ["script of a web page", ["Host: 127.0.0.1:PORT", "Origin: https://evil.example"], 403],
    ["script of the own address", ["Host: 127.0.0.1:PORT", "Origin: http://127.0.0.1:PORT"], 403],
    ["page without an origin", ["Host: 127.0.0.1:PORT", "Origin: null"], 403],
    ["image of a web page", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: cross-site"], 403],
    ["page on another port", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: same-site"], 403],
    ["page that was uploaded", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: same-origin"], 403],
  ])("%s (%j): status %i", async (_client, headers, status) => {
    const { sandbox } = await openTestSandbox();
    const response = await sendRaw(sandbox.port, "GET /v1/datasets", [
      ...headers.map((header) => header.replaceAll("PORT", String(sandbox.port))),
      "Authorization: Bearer dataset-sandbox",
    ]);
    expect(response.split("\r\n", 1)[0]).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(response).not.toMatch(/access-control/i);
  });

  test("a request without a Host header is rejected", async () => {
    const { sandbox } = await openTestSandbox();
    expect(await sendRaw(sandbox.port, "GET /v1/datasets", [])).toMatch(/^HTTP\/1.1 400 /);
  });

  test("a preflight request of a web page is rejected", async () => {
    const { sandbox } = await openTestSandbox();
    const response = await sendRaw(sandbox.port, "OPTIONS /v1/datasets", [
      `Host: 127.0.0.1:${sandbox.port}`,
      "Origin: https://evil.example",
      "Access-Control-Request-Method: POST",
      "Access-Control-Request-Private-Network: true",
    ]);
    expect(response).toMatch(/^HTTP\/1.1 403 /);
    expect(response).not.toMatch(/access-control/i);
  });

  test("a request of a web page is not recorded and does not use up a fault", async () => {
    const seen: ReceivedRequest[] = [];
    const { sandbox, send } = await openTestSandbox({
      faults: [parseFault("* * status=503 times=1")],
      onRequest: (each) => seen.push(each),
    });
    const host = `Host: 127.0.0.1:${sandbox.port}`;
    const page = "Sec-Fetch-Site: cross-site";
    await sendRaw(sandbox.port, "POST /v1/datasets", [host, page, "Content-Length: 0"]);
    expect(seen).toEqual([]);
    expect((await send("GET", "/datasets")).status).toBe(503);
  });

  test.each([
    ["no key", []],
    ["another key", ["Authorization: Bearer dataset-other"]],
    ["the key of an application", ["Authorization: Bearer app-echo"]],
    ["basic authentication", ["Authorization: Basic ZGF0YXNldC1zYW5kYm94Og=="]],
    ["a key in the URL", ["X-Api-Key: dataset-sandbox"]],
  ])("%s is rejected", async (_key, headers) => {
    const { sandbox } = await openTestSandbox();
    const host = `Host: 127.0.0.1:${sandbox.port}`;
    const line = "GET /v1/datasets?key=dataset-sandbox";
    expect(await sendRaw(sandbox.port, line, [host, ...headers])).toMatch(/^HTTP\/1.1 401 /);
  });

  test("other machines cannot connect", async () => {
    const { sandbox } = await openTestSandbox();
    const outer = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4")
      .map(({ address }) => address);
    // Without a network, 127.0.0.2 takes their place: a server on all addresses would accept it, too.
    for (const address of [...outer, ...(process.platform === "linux" ? ["127.0.0.2"] : [])]) {
      expect([address, await connectTo(address, sandbox.port)]).toEqual([address, "ECONNREFUSED"]);
    }
    expect(await connectTo("127.0.0.1", sandbox.port)).toBe("connected");
  });
});

/** Sends a raw request and returns the raw response. */
function sendRaw(port: number, line: string, headers: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let response = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write([`${line} HTTP/1.1`, ...headers, "Connection: close", "", ""].join("\r\n"));
    });
    socket.on("data", (chunk) => (response += chunk.toString()));
    socket.on("end", () => resolve(response));
    socket.on("error", reject);
  });
}

function connectTo(address: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, address, () => {
      socket.destroy();
      resolve("connected");
    });
    socket.on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
  });
}

test("onRequest gets every request as received", async () => {
  const seen: ReceivedRequest[] = [];
  const { send, base } = await openTestSandbox({ onRequest: (each) => seen.push(each) });
  const kb = await base("Ümläut");
  await send("POST", `/datasets/${kb}/document/create-by-file?x=%2F`, fileForm("ü.md", "text"));
  const [create, upload] = seen;
  expect(create).toMatchObject({ method: "POST", path: "/v1/datasets", parts: [] });
  expect(new TextDecoder().decode(create?.body)).toBe(
    '{"name":"Ümläut","indexing_technique":"economy"}',
  );
  expect(create?.headers["authorization"]).toBe("Bearer dataset-sandbox");
  expect(upload?.path).toBe(`/v1/datasets/${kb}/document/create-by-file?x=%2F`);
  const parts = upload?.parts.map(({ bytes, ...part }) => ({
    ...part,
    text: new TextDecoder().decode(bytes),
  }));
  expect(parts).toEqual([
    { name: "data", type: "text/plain", text: '{"process_rule":{"mode":"automatic"}}' },
    { name: "file", filename: "ü.md", type: "text/plain", text: "text" },
  ]);
});

test("every operation is supported", async () => {
  const { sandbox } = await openTestSandbox();
  for (const row of operations) {
    const [method, path] = methodAndPath(row);
    const url = path.replace(/\{\w+\}/g, "11111111-1111-4111-8111-111111111111");
    const name = row.key === "app" ? "app-echo" : "dataset-sandbox";
    const headers = { Authorization: `Bearer ${name}` };
    const { status } = await fetch(`${sandbox.origin}/v1${url}`, { method, headers });
    expect([row.id, status]).not.toEqual([row.id, 501]);
  }
});

describe("a fault", () => {
  test.each([
    ["GET", "expected METHOD PATTERN ACTION[=VALUE] [times=N] [skip=N] [for=TIME] [app=NAME]"],
    ["GET datasets reset", "pattern 'datasets' must start with / or *"],
    ["GET / explode", "unknown action 'explode' (one of: status, "],
    ["GET / status=200", "status=200: expected a status from 400 to 599"],
    ["GET / delay=3", "delay=3: expected a duration such as 3s or 250ms"],
    ["GET / cut-after", "cut-after: expected a whole number"],
    ["GET / drip=0", "drip=0: must be at least 1"],
    ["GET / reset=1", "reset=1: does not take a value"],
    ["GET / version=new", "version=new: expected a value such as 1.13.0"],
    ["GET / reset times=x", "times=x: expected a whole number"],
    ["GET / reset often", "unknown option 'often'"],
    ["GET / reset for=60", "for=60: expected a duration such as 3s or 250ms"],
    ["GET / reset app=", "app=: expected a text, with %20 for each blank"],
    ["GET / answer", "answer: expected a text, with %20 for each blank"],
    ["GET / answer=50%", "answer=50%: expected a text, with %20 for each blank"],
  ])("%j is rejected: %s", (text, message) => {
    expect(() => parseFault(text)).toThrow(message);
  });

  const withFaults = async (...faults: readonly string[]) => {
    const opened = await openTestSandbox({ faults: faults.map(parseFault) });
    return { ...opened, list: () => raw(opened.sandbox.origin, "/v1/datasets", key) };
  };

  test("status: returns a JSON error, skip and times limit it", async () => {
    const { send } = await withFaults("GET /datasets status=503 skip=1 times=2");
    const statuses = [];
    for (let round = 0; round < 4; round++) statuses.push((await send("GET", "/datasets")).status);
    expect(statuses).toEqual([200, 503, 503, 200]);
  });

  test("status: lasts as long as for says, by the server's clock", async () => {
    const { clock, send } = await withFaults("GET /datasets status=500 for=1m");
    const statuses = [];
    for (const ms of [600_000, 59_999, 1]) {
      await clock.advance(ms);
      statuses.push((await send("GET", "/datasets")).status);
    }
    expect(statuses).toEqual([500, 500, 200]);
  });

  test("status: affects the application of app alone", async () => {
    const { sandbox } = await withFaults("GET /info status=500 app=chat times=1");
    const info = (app: string) =>
      fetch(`${sandbox.origin}/v1/info`, { headers: { Authorization: `Bearer app-${app}` } });
    const statuses = [];
    for (const app of ["echo", "chat", "chat"]) statuses.push((await info(app)).status);
    expect(statuses).toEqual([200, 500, 200]);
  });

  test("html: returns the page of a proxy, without a version", async () => {
    const { send } = await withFaults("* /v1/data* html=502");
    const response = await send("GET", "/datasets");
    expect([response.status, response.headers.get("x-version")]).toEqual([502, null]);
    expect(await response.text()).toContain("<h1>502 Bad Gateway</h1>");
  });

  test("reset: resets the connection before the request is handled", async () => {
    const { list } = await withFaults("GET * reset times=1");
    expect((await list()).outcome).toBe("reset");
    expect((await list()).outcome).toBe(200);
  });

  test("cut-bytes: truncates the response after the request is handled", async () => {
    const { sandbox, base } = await withFaults("GET /datasets cut-bytes=10");
    await base();
    expect(await raw(sandbox.origin, "/v1/datasets", key)).toEqual({
      outcome: "cut",
      text: '{"data": [',
    });
  });

  test("length: sends a Content-Length with a 204", async () => {
    const { sandbox, base } = await withFaults("DELETE /datasets/* length=2");
    const kb = await base();
    const text = await sendRaw(sandbox.port, `DELETE /v1/datasets/${kb}`, [
      `Host: 127.0.0.1:${sandbox.port}`,
      `Authorization: ${key.Authorization}`,
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\n[^]*Content-Length: 2\r\n[^]*\r\n\r\n$/);
  });

  test("delay: delays the request", async () => {
    const { clock, list } = await withFaults("GET * delay=3s");
    let responded = false;
    const response = list().finally(() => (responded = true));
    await clock.asleep(3000);
    await clock.advance(2999);
    expect(responded).toBe(false);
    await clock.advance(1);
    expect((await response).outcome).toBe(200);
  });

  test("drip: sends the response at the rate", async () => {
    const { clock, list } = await withFaults("GET * drip=100");
    const start = clock.now().getTime();
    let open = true;
    const response = list().finally(() => (open = false));
    while (open) await clock.advance(100);
    const { text } = await response;
    expect(text).toBe('{"data": [], "has_more": false, "limit": 20, "total": 0, "page": 1}\n');
    const seconds = (clock.now().getTime() - start) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(text.length / 100);
  });

  test("silence: sends no response", async () => {
    const { sandbox, clock } = await withFaults("GET * silence");
    const client = new AbortController();
    const url = `${sandbox.origin}/v1/datasets`;
    const response = fetch(url, { headers: key, signal: client.signal });
    await clock.advance(600_000);
    client.abort();
    await expect(response).rejects.toThrow("aborted");
  });

  const startRun = async (fault: string) => {
    const { sandbox, clock } = await withFaults(fault);
    const response = await fetch(`${sandbox.origin}/v1/workflows/run`, {
      method: "POST",
      headers: echoKey,
      body: JSON.stringify({ inputs: { query: "x" }, user: "u", response_mode: "streaming" }),
    });
    return { response, clock };
  };
  const countEvents = (text: string) => text.match(/^data: /gm)?.length ?? 0;

  test("cut-after: drops a stream after events with data; pings do not count", async () => {
    const { response } = await startRun("POST /workflows/run cut-after=2");
    let text = "";
    const reading = (async () => {
      for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk);
    })();
    await expect(reading).rejects.toThrow("terminated");
    expect(text.startsWith("event: ping")).toBe(true);
    expect(countEvents(text)).toBe(2);
  });

  test("silence=N: sends nothing after N events", async () => {
    const { response, clock } = await startRun("POST /workflows/run silence=3");
    const reader = response.body?.getReader();
    let text = "";
    while (countEvents(text) < 3) text += new TextDecoder().decode((await reader?.read())?.value);
    const more = reader?.read();
    await clock.advance(60_000);
    expect(await Promise.race([more, Promise.resolve("nothing")])).toBe("nothing");
    await reader?.cancel();
  });

  test.each([
    ["1.13.0", "GET", "/workflow/11111111-1111-4111-8111-111111111111/events?user=u", 404, "text"],
    ["1.13.0", "PATCH", "/datasets/KB/documents/22222222-2222-4222-8222-222222222222", 405, "json"],
    ["1.14.0", "PATCH", "/datasets/KB/documents/22222222-2222-4222-8222-222222222222", 400, "json"],
    ["1.12.9", "DELETE", "/datasets/KB", 200, "json"],
    ["1.13.0", "DELETE", "/datasets/KB", 204, "json"],
  ])("version=%s: %s %s returns %i", async (version, method, path, status, kind) => {
    const { sandbox, base, send } = await openTestSandbox();
    const kb = await base();
    sandbox.setFaults([parseFault(`* * version=${version}`)]);
    const response = await send(method, path.replace("KB", kb));
    expect(response.status).toBe(status);
    expect(response.headers.get("x-version")).toBe(version);
    expect(response.headers.get("content-type")).toContain(kind);
  });

  test.each([
    ["1.14.1", 400],
    ["1.14.2", 200],
  ])("version=%s: renaming a tag to its own name returns %i", async (version, status) => {
    const { call } = await withFaults(`* * version=${version}`);
    const { id: tag_id } = await call("POST", "/datasets/tags", { name: "draft" });
    const response = await call("PATCH", "/datasets/tags", { tag_id, name: "draft" });
    expect(response.status).toBe(status);
  });
});

describe("a data directory", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "kb-sandbox-"));
  });
  afterAll(() => rm(directory, { recursive: true }));

  test("survives a kill of the sandbox, and indexing continues", async () => {
    const [live, killed] = [join(directory, "live"), join(directory, "killed")];
    await mkdir(live);
    const { base, send, call } = await openTestSandbox({
      directory: live,
      indexingDelay: 500,
    });
    const kb = await base();
    await send("POST", `/datasets/${kb}/document/create-by-text`, {
      name: "a.md",
      text: "Parking.",
      indexing_technique: "economy",
    });
    const before = await call("GET", `/datasets/${kb}/documents`);
    expect(before.data[0]?.display_status).toBe("queuing");

    // A kill leaves the current files, the lock of the database and a dead owner.
    await cp(live, killed, { recursive: true });
    await mkdir(join(killed, "sandbox.db.lock"), { recursive: true });
    await writeFile(join(killed, "sandbox.pid"), "");
    await setAge(16, join(killed, "sandbox.pid"));
    const again = await openTestSandbox({ directory: killed, ownPid: 1, isAlive: () => false });
    await again.clock.advance(500);
    const after = await again.call("GET", `/datasets/${kb}/documents`);
    expect(after.data.map(({ name, display_status }) => [name, display_status])).toEqual([
      ["a.md", "available"],
    ]);
    const matches = await again.call("POST", `/datasets/${kb}/retrieve`, { query: "parking" });
    expect(matches.records).toHaveLength(1);
  });

  test("of another version opens, with fewer and more columns", async () => {
    const path = join(directory, "other-version");
    await mkdir(path);
    const database = new sqlite.Database(join(path, "sandbox.db"));
    database.exec(`
      CREATE TABLE tags (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        color TEXT NOT NULL DEFAULT '');
      INSERT INTO tags (id, name) VALUES ('a', 'old');
      CREATE TABLE datasets (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL,
        provider TEXT NOT NULL, permission TEXT NOT NULL, members TEXT NOT NULL,
        created_at INTEGER NOT NULL);
      INSERT INTO datasets VALUES ('b', 'Old', 'vendor', 'only_me', '[]', 0);`);
    database.close();
    const { base, call, send } = await openTestSandbox({ directory: path });
    await base();
    await send("POST", "/datasets/tags", { name: "new" });
    const tags = await (await send("GET", "/datasets/tags")).text();
    expect(tags).toMatch(/"new".*"old"/);
    const { data } = await call("GET", "/datasets");
    expect(data).toHaveLength(2);
    expect(data.find(({ name }) => name === "Old")).toMatchObject({
      description: null,
      built_in_field_enabled: false,
      updated_at: 0,
    });
  });

  test("must exist", async () => {
    const missing = { clock: manualClock(), directory: join(directory, "missing"), ownPid: 1 };
    await expect(startSandbox(missing)).rejects.toThrow("ENOENT");
  });

  async function open(name: string, ownPid: number, isAlive: (pid: number) => boolean) {
    const path = join(directory, name);
    await mkdir(path, { recursive: true });
    return startSandbox({ clock: manualClock(), directory: path, ownPid, isAlive });
  }

  test("of a running sandbox is rejected with its PID, and free after it stops", async () => {
    const first = await open("owned", process.pid, () => true);
    await expect(open("owned", process.pid + 1, () => true)).rejects.toThrow(
      `is in use by another sandbox (pid ${process.pid} on `,
    );
    await expect(open("owned", process.pid, () => true)).rejects.toThrow("is in use");
    await first.stop();
    await (await open("owned", process.pid + 1, () => true)).stop();
  });

  /** Locks a directory for another process; `other` overrides the fields of this one. */
  async function lockFor(name: string, other: object): Promise<string> {
    const first = await open(name, process.pid, () => true);
    const file = join(directory, name, "sandbox.pid");
    const lock = JSON.parse(await readFile(file, "utf8")) as object; // as the sandbox wrote it
    await first.stop();
    await writeFile(file, JSON.stringify({ ...lock, token: "0123456789abcdef", ...other }));
    return file;
  }
  const setAge = (seconds: number, file: string) =>
    utimes(file, new Date(), new Date(Date.now() - seconds * 1000));

  test("of another process is rejected, and free as soon as that exits", async () => {
    await lockFor("other", { pid: process.ppid, start: null });
    await expect(open("other", process.pid, () => true)).rejects.toThrow(`pid ${process.ppid}`);
    await (await open("other", process.pid, () => false)).stop();
  });

  test("of another container is rejected while it runs, and free soon after a kill", async () => {
    const file = await lockFor("shared", { pid: 1, place: "elsewhere boot pid:[1]" });
    await expect(open("shared", process.pid, () => false)).rejects.toThrow("pid 1 on elsewhere");
    await setAge(14, file);
    await expect(open("shared", process.pid, () => false)).rejects.toThrow("is in use");
    await setAge(16, file);
    await (await open("shared", process.pid, () => true)).stop();
  });

  test("stays locked: its owner touches the file regularly", async () => {
    const clock = manualClock(new Date().toISOString());
    const path = join(directory, "touched");
    await mkdir(path);
    const sandbox = await startSandbox({ clock, directory: path, ownPid: process.pid });
    const file = join(path, "sandbox.pid");
    await setAge(16, file);
    const aged = (await stat(file)).mtimeMs;
    await clock.advance(3000);
    expect((await stat(file)).mtimeMs - aged).toBeGreaterThan(15_000);
    await sandbox.stop();
    await expect(stat(file)).rejects.toThrow("ENOENT");
  });

  test("is not locked by an earlier process with its own PID, as PID 1 of containers", async () => {
    await lockFor("same", {});
    await (await open("same", process.pid, () => true)).stop();
  });

  test("is not locked by another program with the PID of a dead owner", async () => {
    await lockFor("reused", { start: "1" });
    await (await open("reused", process.pid + 1, () => true)).stop();
  });
});
