/** The sandbox as a server: who may ask, what goes wrong on purpose, what stays on disk. */
import { cp, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { methodAndPath } from "../../src/operations/operation.ts";
import { parseFault } from "../../src/sandbox/http/faults.ts";
import { type ReceivedRequest, startSandbox } from "../../src/sandbox/http/server.ts";
import { manualClock } from "../lib/manual-clock.ts";
import { fileForm, openTestSandbox } from "../lib/sandbox-client.ts";

/** Asks with exactly these headers; resolves to the status, "reset" or "cut". */
function raw(origin: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ readonly outcome: number | string; readonly text: string }>((resolve) => {
    let text = "";
    const sent = request(origin, { path, headers, agent: false }, (answer) => {
      answer.setEncoding("utf8");
      answer.on("data", (piece: string) => (text += piece));
      answer.on("end", () => resolve({ outcome: answer.statusCode ?? 0, text }));
      answer.on("error", () => resolve({ outcome: "cut", text }));
    });
    sent.on("error", (error) => {
      const reset = "code" in error && error.code === "ECONNRESET";
      resolve({ outcome: reset ? "reset" : error.message, text });
    });
    sent.end();
  });
}

const key = { Authorization: "Bearer dataset-sandbox" };
const echoKey = { Authorization: "Bearer app-echo", "Content-Type": "application/json" };

describe("who may ask", () => {
  test.each([
    ["its own address", ["Host: 127.0.0.1:PORT"], 200],
    ["localhost", ["Host: LocalHost:PORT"], 200],
    ["the newer form of the address", ["Host: [::1]:PORT"], 200],
    ["an address that a person opens", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: none"], 200],
    ["the name of a web page", ["Host: evil.example:PORT"], 403],
    ["a name that begins like ours", ["Host: localhost.evil.example:PORT"], 403],
    ["a name that ends like ours", ["Host: evil.localhost:PORT"], 403],
    ["every address of this machine", ["Host: 0.0.0.0:PORT"], 403],
    ["another port", ["Host: 127.0.0.1:1"], 403],
    ["no port", ["Host: 127.0.0.1"], 403],
    ["an empty name", ["Host: "], 403],
    ["a web page's script", ["Host: 127.0.0.1:PORT", "Origin: https://evil.example"], 403],
    ["a script of our own address", ["Host: 127.0.0.1:PORT", "Origin: http://127.0.0.1:PORT"], 403],
    ["a page without an origin", ["Host: 127.0.0.1:PORT", "Origin: null"], 403],
    ["a picture of a web page", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: cross-site"], 403],
    ["a page on another port", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: same-site"], 403],
    ["a page that was uploaded", ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: same-origin"], 403],
  ])("%s: %j", async (_who, headers, status) => {
    const { sandbox } = await openTestSandbox();
    const answer = await sent(sandbox.port, "GET /v1/datasets", [
      ...headers.map((header) => header.replaceAll("PORT", String(sandbox.port))),
      "Authorization: Bearer dataset-sandbox",
    ]);
    expect(answer.split("\r\n", 1)[0]).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).not.toMatch(/access-control/i);
  });

  test("a request without a name is none", async () => {
    const { sandbox } = await openTestSandbox();
    expect(await sent(sandbox.port, "GET /v1/datasets", [])).toMatch(/^HTTP\/1.1 400 /);
  });

  test("a page is not told that it may ask", async () => {
    const { sandbox } = await openTestSandbox();
    const answer = await sent(sandbox.port, "OPTIONS /v1/datasets", [
      `Host: 127.0.0.1:${sandbox.port}`,
      "Origin: https://evil.example",
      "Access-Control-Request-Method: POST",
      "Access-Control-Request-Private-Network: true",
    ]);
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).not.toMatch(/access-control/i);
  });

  test("a page uses up no fault, and nothing of it is kept", async () => {
    const seen: ReceivedRequest[] = [];
    const { sandbox, send } = await openTestSandbox({
      faults: [parseFault("* * status=503 times=1")],
      onRequest: (line) => seen.push(line),
    });
    const host = `Host: 127.0.0.1:${sandbox.port}`;
    const page = "Sec-Fetch-Site: cross-site";
    await sent(sandbox.port, "POST /v1/datasets", [host, page, "Content-Length: 0"]);
    expect(seen).toEqual([]);
    expect((await send("GET", "/datasets")).status).toBe(503);
  });

  test.each([
    ["no key", []],
    ["another key", ["Authorization: Bearer dataset-other"]],
    ["the key of an application", ["Authorization: Bearer app-echo"]],
    ["a password", ["Authorization: Basic ZGF0YXNldC1zYW5kYm94Og=="]],
    ["a key in the address", ["X-Api-Key: dataset-sandbox"]],
  ])("%s is refused", async (_what, headers) => {
    const { sandbox } = await openTestSandbox();
    const host = `Host: 127.0.0.1:${sandbox.port}`;
    const line = "GET /v1/datasets?key=dataset-sandbox";
    expect(await sent(sandbox.port, line, [host, ...headers])).toMatch(/^HTTP\/1.1 401 /);
  });

  test("other machines reach nothing", async () => {
    const { sandbox } = await openTestSandbox();
    const outer = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4")
      .map(({ address }) => address);
    // 127.0.0.2 stands in for them where there is no network: whoever listens everywhere has it too.
    for (const address of [...outer, ...(process.platform === "linux" ? ["127.0.0.2"] : [])]) {
      expect([address, await reaches(address, sandbox.port)]).toEqual([address, "ECONNREFUSED"]);
    }
    expect(await reaches("127.0.0.1", sandbox.port)).toBe("connected");
  });
});

/** Sends a request as it stands, and gives the answer as it comes. */
function sent(port: number, line: string, headers: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write([`${line} HTTP/1.1`, ...headers, "Connection: close", "", ""].join("\r\n"));
    });
    socket.on("data", (piece) => (answer += piece.toString()));
    socket.on("end", () => resolve(answer));
    socket.on("error", reject);
  });
}

function reaches(address: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, address, () => {
      socket.destroy();
      resolve("connected");
    });
    socket.on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
  });
}

test("every request is told as it arrived", async () => {
  const seen: ReceivedRequest[] = [];
  const { send, base } = await openTestSandbox({ onRequest: (line) => seen.push(line) });
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

test("every operation is played", async () => {
  const { sandbox } = await openTestSandbox();
  for (const row of operations) {
    const [method, path] = methodAndPath(row);
    const filled = path.replace(/\{\w+\}/g, "11111111-1111-4111-8111-111111111111");
    const name = row.key === "app" ? "app-echo" : "dataset-sandbox";
    const headers = { Authorization: `Bearer ${name}` };
    const { status } = await fetch(`${sandbox.origin}/v1${filled}`, { method, headers });
    expect([row.id, status]).not.toEqual([row.id, 501]);
  }
});

describe("a fault", () => {
  test.each([
    ["GET", "expected METHOD PATTERN ACTION[=VALUE] [times=N] [skip=N]"],
    ["GET datasets reset", "pattern 'datasets' must start with / or *"],
    ["GET / explode", "unknown action 'explode' (one of: status, "],
    ["GET / status=200", "status=200: expected a status from 400 to 599"],
    ["GET / delay=3", "delay=3: expected a duration such as 3s or 250ms"],
    ["GET / cut-after", "cut-after: expected a whole number"],
    ["GET / drip=0", "drip=0: must be at least 1"],
    ["GET / reset=1", "reset=1: does not take a value"],
    ["GET / version=new", "version: expected a value such as 1.13.0"],
    ["GET / reset times=x", "times=x: expected a whole number"],
    ["GET / reset often", "unknown option 'often'"],
  ])("'%s' is not understood", (text, message) => {
    expect(() => parseFault(text)).toThrow(message);
  });

  const faulty = async (...faults: readonly string[]) => {
    const opened = await openTestSandbox({ faults: faults.map(parseFault) });
    return { ...opened, list: () => raw(opened.sandbox.origin, "/v1/datasets", key) };
  };

  test("answers an error of the server in JSON, as often as it says", async () => {
    const { send } = await faulty("GET /datasets status=503 skip=1 times=2");
    const statuses = [];
    for (let round = 0; round < 4; round++) statuses.push((await send("GET", "/datasets")).status);
    expect(statuses).toEqual([200, 503, 503, 200]);
  });

  test("answers the page of a proxy without a version", async () => {
    const { send } = await faulty("* /v1/data* html=502");
    const answer = await send("GET", "/datasets");
    expect([answer.status, answer.headers.get("x-version")]).toEqual([502, null]);
    expect(await answer.text()).toContain("<h1>502 Bad Gateway</h1>");
  });

  test("resets the connection before anything is done", async () => {
    const { list } = await faulty("GET * reset times=1");
    expect((await list()).outcome).toBe("reset");
    expect((await list()).outcome).toBe(200);
  });

  test("cuts an answer short after the work is done", async () => {
    const { sandbox, base } = await faulty("GET /datasets cut-bytes=10");
    await base();
    expect(await raw(sandbox.origin, "/v1/datasets", key)).toEqual({
      outcome: "cut",
      text: '{"data": [',
    });
  });

  test("says the length of a body that a 204 does not have", async () => {
    const { sandbox, base } = await faulty("DELETE /datasets/* length=2");
    const kb = await base();
    const text = await sent(sandbox.port, `DELETE /v1/datasets/${kb}`, [
      `Host: 127.0.0.1:${sandbox.port}`,
      `Authorization: ${key.Authorization}`,
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\n[^]*Content-Length: 2\r\n[^]*\r\n\r\n$/);
  });

  test("delays the work", async () => {
    const { clock, list } = await faulty("GET * delay=3s");
    let answered = false;
    const answer = list().finally(() => (answered = true));
    await clock.asleep(3000);
    await clock.advance(2999);
    expect(answered).toBe(false);
    await clock.advance(1);
    expect((await answer).outcome).toBe(200);
  });

  test("lets an answer drip", async () => {
    const { clock, list } = await faulty("GET * drip=100");
    const begin = clock.now().getTime();
    let open = true;
    const answer = list().finally(() => (open = false));
    while (open) await clock.advance(100);
    const { text } = await answer;
    expect(text).toBe('{"data": [], "has_more": false, "limit": 20, "total": 0, "page": 1}\n');
    const seconds = (clock.now().getTime() - begin) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(text.length / 100);
  });

  test("never answers", async () => {
    const { sandbox, clock } = await faulty("GET * silence");
    const leaving = new AbortController();
    const url = `${sandbox.origin}/v1/datasets`;
    const answer = fetch(url, { headers: key, signal: leaving.signal });
    await clock.advance(600_000);
    leaving.abort();
    await expect(answer).rejects.toThrow("aborted");
  });

  const streamed = async (fault: string) => {
    const { sandbox, clock } = await faulty(fault);
    const answer = await fetch(`${sandbox.origin}/v1/workflows/run`, {
      method: "POST",
      headers: echoKey,
      body: JSON.stringify({ inputs: { query: "x" }, user: "u", response_mode: "streaming" }),
    });
    return { answer, clock };
  };
  const eventsIn = (text: string) => text.match(/^data: /gm)?.length ?? 0;

  test("cuts a stream after events that carry data; pings do not count", async () => {
    const { answer } = await streamed("POST /workflows/run cut-after=2");
    let text = "";
    const reading = (async () => {
      for await (const piece of answer.body ?? []) text += new TextDecoder().decode(piece);
    })();
    await expect(reading).rejects.toThrow("terminated");
    expect(text.startsWith("event: ping")).toBe(true);
    expect(eventsIn(text)).toBe(2);
  });

  test("makes a stream fall silent", async () => {
    const { answer, clock } = await streamed("POST /workflows/run silence=3");
    const reader = answer.body?.getReader();
    let text = "";
    while (eventsIn(text) < 3) text += new TextDecoder().decode((await reader?.read())?.value);
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
  ])("plays %s: %s %s answers %i", async (version, method, path, status, kind) => {
    const { sandbox, base, send } = await openTestSandbox();
    const kb = await base();
    sandbox.setFaults([parseFault(`* * version=${version}`)]);
    const answer = await send(method, path.replace("KB", kb));
    expect(answer.status).toBe(status);
    expect(answer.headers.get("x-version")).toBe(version);
    expect(answer.headers.get("content-type")).toContain(kind);
  });

  test.each([
    ["1.14.1", 400],
    ["1.14.2", 200],
  ])("plays %s: a tag renamed to its own name answers %i", async (version, status) => {
    const { ask } = await faulty(`* * version=${version}`);
    const { id: tag_id } = await ask("POST", "/datasets/tags", { name: "draft" });
    const answer = await ask("PATCH", "/datasets/tags", { tag_id, name: "draft" });
    expect(answer.status).toBe(status);
  });
});

describe("a folder", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "kb-sandbox-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("keeps what was answered when the sandbox is killed, and indexing goes on", async () => {
    const [live, killed] = [join(folder, "live"), join(folder, "killed")];
    await mkdir(live);
    const { base, send, ask } = await openTestSandbox({ directory: live, indexingDelay: 500 });
    const kb = await base();
    await send("POST", `/datasets/${kb}/document/create-by-text`, {
      name: "a.md",
      text: "Parking.",
      indexing_technique: "economy",
    });
    const before = await ask("GET", `/datasets/${kb}/documents`);
    expect(before.data[0]?.display_status).toBe("queuing");

    // What a kill leaves: the files as they are now, the lock of the database and a dead owner.
    await cp(live, killed, { recursive: true });
    await mkdir(join(killed, "sandbox.db.lock"), { recursive: true });
    await writeFile(join(killed, "sandbox.pid"), "");
    await untouchedFor(16, join(killed, "sandbox.pid"));
    const again = await openTestSandbox({ directory: killed, ownPid: 1, isAlive: () => false });
    await again.clock.advance(500);
    const after = await again.ask("GET", `/datasets/${kb}/documents`);
    expect(after.data.map(({ name, display_status }) => [name, display_status])).toEqual([
      ["a.md", "available"],
    ]);
    const found = await again.ask("POST", `/datasets/${kb}/retrieve`, { query: "parking" });
    expect(found.records).toHaveLength(1);
  });

  const open = (name: string, ownPid: number, isAlive: (pid: number) => boolean) =>
    startSandbox({ clock: manualClock(), directory: join(folder, name), ownPid, isAlive });

  test("of a living sandbox is refused with its pid, and free after the end", async () => {
    const first = await open("owned", process.pid, () => true);
    await expect(open("owned", process.pid + 1, () => true)).rejects.toThrow(
      `is in use by another sandbox (pid ${process.pid} on `,
    );
    await expect(open("owned", process.pid, () => true)).rejects.toThrow("is in use");
    await first.stop();
    await (await open("owned", process.pid + 1, () => true)).stop();
  });

  /** A folder held by a process that the given words describe; the rest is as this process has it. */
  async function heldFolder(name: string, other: object): Promise<string> {
    const first = await open(name, process.pid, () => true);
    const file = join(folder, name, "sandbox.pid");
    const held = JSON.parse(await readFile(file, "utf8")) as object; // as the sandbox wrote it
    await first.stop();
    await writeFile(file, JSON.stringify({ ...held, token: "0123456789abcdef", ...other }));
    return file;
  }
  const untouchedFor = (seconds: number, file: string) =>
    utimes(file, new Date(), new Date(Date.now() - seconds * 1000));

  test("of another living process is refused, free as soon as that is gone", async () => {
    await heldFolder("other", { pid: process.ppid, start: null });
    await expect(open("other", process.pid, () => true)).rejects.toThrow(`pid ${process.ppid}`);
    await (await open("other", process.pid, () => false)).stop();
  });

  test("of another container is refused while that one lives, free soon after a kill", async () => {
    const file = await heldFolder("shared", { pid: 1, place: "elsewhere boot pid:[1]" });
    await expect(open("shared", process.pid, () => false)).rejects.toThrow("pid 1 on elsewhere");
    await untouchedFor(14, file);
    await expect(open("shared", process.pid, () => false)).rejects.toThrow("is in use");
    await untouchedFor(16, file);
    await (await open("shared", process.pid, () => true)).stop();
  });

  test("stays held: its owner touches the file again and again", async () => {
    const clock = manualClock(new Date().toISOString());
    const path = join(folder, "touched");
    const sandbox = await startSandbox({ clock, directory: path, ownPid: process.pid });
    await untouchedFor(16, join(path, "sandbox.pid"));
    await clock.advance(3000);
    expect(Date.now() - (await stat(join(path, "sandbox.pid"))).mtimeMs).toBeLessThan(10_000);
    await sandbox.stop();
    await expect(stat(join(path, "sandbox.pid"))).rejects.toThrow("ENOENT");
  });

  test("is not locked by another program that has the pid of a dead owner", async () => {
    await heldFolder("reused", { start: "1" });
    await (await open("reused", process.pid + 1, () => true)).stop();
  });
});
