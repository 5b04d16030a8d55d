import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import type { RawHost } from "../../../src/host/host.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { actions, contentsOf, write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { syncedBases } from "../../lib/synced-base.ts";
import { temporaryDirectory, type World } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";

beforeEach(async () => {
  ({ kb, dir } = await newBase());
});

const run = (argv: readonly string[], world: World) =>
  server.cli(["kb", ...argv], { folder: home, ...world });
const sync = (flags: readonly string[] = [], world: World = {}) =>
  run(["sync", kb, dir, ...flags], world);
const stored = () => contentsOf(server.sandbox.origin, kb);
const names = async () => [...(await stored()).keys()].sort();
const hashes = async () => [...(await stored()).values()].map(({ hash }) => hash);
const writes = (from: number) =>
  server.seen
    .slice(from)
    .filter(({ method, path }) => method !== "GET" && !/download-zip/.test(path));

const three = { "a.md": "first", "people/leave.md": "30 days", "prices.csv": "a,b\n" };
const valid = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown;

/** Returns the message of a 403 response for a request, or undefined to forward it. */
type Intercept = (method: string, path: string) => Promise<string | void> | string | void;

const proxies = new Set<ReturnType<typeof createServer>>();
afterEach(() => {
  for (const proxy of proxies) proxy.close();
  proxies.clear();
});

/** The environment for a command whose requests go through a proxy. */
async function through(intercept: Intercept): Promise<Required<Pick<World, "env">>> {
  const proxy = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer); // no encoding was set
    const { method = "", url = "" } = request;
    const message = await intercept(method, url);
    if (message !== undefined) {
      response.writeHead(403, { "content-type": "application/json", "x-version": "1.14.2" });
      response.end(JSON.stringify({ code: "forbidden", message, status: 403 }));
      return;
    }
    const { "content-type": type = "", authorization = "" } = request.headers;
    const answer = await fetch(`${server.sandbox.origin}${url}`, {
      method,
      headers: { authorization, ...(type && { "content-type": type }) },
      body: pieces.length > 0 ? Buffer.concat(pieces) : null,
    });
    const body = Buffer.from(await answer.arrayBuffer());
    const kind = answer.headers.get("content-type") ?? "text/plain";
    response.writeHead(answer.status, { "content-type": kind }).end(body);
  });
  proxies.add(proxy);
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo; // it listens on a port
  return { env: { KB_BASE_URL: `http://127.0.0.1:${port}/v1` } };
}

const limit = "Sorry, you have reached the knowledge base request rate limit of your subscription.";
/** Rejects the first requests that match. */
const limitedOnce = (pattern: RegExp, max = 1): Intercept => {
  let times = 0;
  return (method, path) => (pattern.test(`${method} ${path}`) && times++ < max ? limit : undefined);
};
/** Turns waits of one minute into none. */
const shortMinutes = (host: RawHost): RawHost => ({
  ...host,
  sleep: (ms, signal) => host.sleep(ms === 60_000 ? 0 : ms, signal),
});

describe("--prune keeps documents", () => {
  test.each([
    ["nowhere", "failed p/sub"],
    ["../", "skip p/sub"],
  ])("below a symlink to %s that replaced a directory", async (target, link) => {
    await write(dir, { ...three, "p/sub/b.md": "b", "p/sub/c/d.md": "d", "p/subs.md": "e" });
    await sync();
    await rm(join(dir, "p", "sub"), { recursive: true });
    await rm(join(dir, "p", "subs.md"));
    await symlink(target, join(dir, "p", "sub"));
    const ran = await sync(["--prune", "--max-delete", "100%"]);
    expect(actions(ran.out)).toEqual(["delete p/subs.md", link]);
  });

  test("if the directory cannot be read", async () => {
    await write(dir, three);
    await sync();
    const entries = (path: string) =>
      Promise.reject(Object.assign(new Error("EACCES"), { code: "EACCES", path }));
    const ran = await sync(["--prune", "--yes"], { files: { entries } });
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("refusing to --prune everything");
    expect(await names()).toHaveLength(3);
  });

  test("if no file can be read", async () => {
    await write(dir, three);
    await sync();
    await rm(dir, { recursive: true });
    await write(dir, { "x/y": null });
    await symlink("nowhere", join(dir, "people"));
    const ran = await sync(["--prune", "--yes"]);
    expect(ran.exit).toBe(2);
    expect(await names()).toHaveLength(3);
  });

  test("of excluded files that exist", async () => {
    await write(dir, { ...three, "old/x.csv": "x", "u\u0308.csv": "u", "gone.csv": "g" });
    await sync();
    await write(dir, { "gone.csv": null, ".kbignore": "old/\n" });
    const flags = ["--include", "**/*.md", "--exclude", "people/**"];
    const ran = await sync([...flags, "--prune", "--max-delete", "1"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(actions(ran.out)).toEqual(["delete gone.csv"]);
  });
});

test("--prune deletes documents below a directory that a file replaced", async () => {
  await write(dir, { ...three, "guide/x.md": "x" });
  await sync();
  await rm(join(dir, "guide"), { recursive: true });
  await write(dir, { guide: "x" });
  const ran = await sync(["--prune", "--max-delete", "1"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(actions(ran.out)).toEqual(["delete guide/x.md", "skip guide"]);
});

test("an ignore file is read only if it is a regular file in the directory and not too large", async () => {
  const outside = join(home, "outside");
  await write(home, { outside: "secret ** ** ** ** ** ** line\n" });
  await write(dir, { "a/a.md": "a", "b/b.md": "b", "c/c.md": "c", "d/d.md": "d" });
  await mkdir(join(dir, "a", ".gitignore"));
  await symlink(outside, join(dir, "b", ".gitignore"));
  await symlink("/dev/zero", join(dir, "c", ".kbignore"));
  expect(spawnSync("sh", ["-c", 'mkfifo "$0"', join(dir, "d", ".kbignore")]).status).toBe(0);
  for (const line of [
    ["sync", kb, dir, "--dry-run"],
    ["sync", kb, dir],
    ["lint", dir],
  ]) {
    const ran = await server.cli(["kb", ...line], { folder: home });
    expect(ran.exit, ran.err).toBe(line[0] === "lint" ? 14 : 10);
    expect(ran.out + ran.err).toContain("b/.gitignore");
    expect(ran.out + ran.err).not.toContain("secret");
  }
  expect(await names()).toEqual(["a/a.md", "b/b.md", "c/c.md", "d/d.md"]);
  await rm(join(dir, "b", ".gitignore"));
  await write(dir, { "b/.gitignore": "#".repeat(2 ** 20 + 1) });
  const large = await sync([]);
  expect(large.exit).toBe(2);
  expect(large.err).toContain("ignore file b/.gitignore is too large");
});

test("an ignore file that is a broken symlink has no effect", async () => {
  await write(dir, three);
  await symlink("nowhere", join(dir, ".gitignore"));
  expect((await sync()).exit).toBe(0);
  expect(await names()).toHaveLength(3);
});

describe("reserved field names", () => {
  test("in front matter are skipped with one notice", async () => {
    const long = "x".repeat(256);
    const head = `---\nsource: x\nkb_hash: y\n? ${long}\n: 1\nowner: Ann\n---\n`;
    await write(dir, { "a.md": `${head}a`, "b.md": `${head}b` });
    const flags = ["--metadata-from", "front-matter"];
    const ran = await sync(flags);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err.match(/cannot be field names/g)).toHaveLength(1);
    expect(ran.err).toContain("kb_hash, source");
    expect(await hashes()).toEqual([valid, valid]);
    const again = await sync(flags);
    expect(again).toMatchObject({ exit: 0, out: "" });
  });

  test.each([["source=x"], ["kb_hash=zz"], ["uploader=me"]])(
    "--metadata %s is rejected",
    async (text) => {
      await write(dir, three);
      const before = server.seen.length;
      const ran = await sync(["--metadata", text]);
      expect(ran.exit).toBe(2);
      expect(writes(before)).toEqual([]);
    },
  );
});

describe("a file that changes during a sync", () => {
  /** Changes something after a file is read for the first time. */
  const afterReading = (name: string, change: () => Promise<void>): World => {
    let reads = 0;
    return {
      files: {
        async read(path) {
          const bytes = await diskFiles.read(path);
          if (path.endsWith(name) && reads++ === 0) await change();
          return bytes;
        },
      },
    };
  };

  test("has the hash of the bytes that were sent", async () => {
    await write(dir, three);
    const ran = await sync(
      [],
      afterReading("prices.csv", () => write(dir, { "prices.csv": "other\n" })),
    );
    expect(ran.exit, ran.err).toBe(0);
    expect((await stored()).get("prices.csv")?.text).toBe("other\n");
    await write(dir, { "prices.csv": "a,b\n" });
    expect(actions((await sync()).out)).toEqual(["update prices.csv"]);
    expect((await stored()).get("prices.csv")?.text).toBe("a,b\n");
  });

  test.each([["a.md"], ["prices.csv"]])(
    "%s is deleted: it is reported, and other files are synced",
    async (name) => {
      await write(dir, three);
      const ran = await sync(
        [],
        afterReading(name, () => write(dir, { [name]: null })),
      );
      expect(ran.exit, ran.err).toBe(10);
      expect(ran.out).toMatch(`failed\t${name}\tfailed to read the file: file not found\t\n`);
      expect(await hashes()).toEqual([valid, valid]);
    },
  );
});

describe("--no-wait", () => {
  test("has nothing left to do after the second sync", async () => {
    await write(dir, three);
    await sync(["--no-wait"]);
    await run(["doc", "wait", kb], {});
    const second = await sync(["--no-wait"]);
    expect(actions(second.out)).toEqual([
      "adopt a.md",
      "adopt people/leave.md",
      "adopt prices.csv",
    ]);
    expect(await hashes()).toEqual([valid, valid, valid]);
    expect((await sync(["--no-wait"])).out).toBe("");
  });

  test("keeps valid hashes if only metadata changes", async () => {
    await write(dir, three);
    await sync();
    const ran = await sync(["--no-wait", "--metadata", "team=it"]);
    expect(actions(ran.out)).toEqual([
      "metadata a.md",
      "metadata people/leave.md",
      "metadata prices.csv",
    ]);
    expect(await hashes()).toEqual([valid, valid, valid]);
  });
});

describe("a metadata field", () => {
  afterEach(() => server.sandbox.setFaults([]));
  const fields = (from: number) =>
    writes(from)
      .filter(({ method, path }) => method === "POST" && /\/datasets\/[^/]+\/metadata$/.test(path))
      .map(({ body }) => (JSON.parse(Buffer.from(body).toString()) as { name: string }).name);
  const all = ["kb_path", "kb_source", "kb_hash", "kb_file"];

  test("is created once, also if the response is lost", async () => {
    await write(dir, three);
    const from = server.seen.length;
    server.sandbox.setFaults([parseFault("POST /datasets/*/metadata cut-bytes=5 times=1")]);
    const ran = await sync();
    expect(ran.exit, ran.err).toBe(0);
    expect(fields(from)).toEqual(all);
    expect(await hashes()).toEqual([valid, valid, valid]);
  });

  test("that never arrived is created after the list was read again", async () => {
    await write(dir, three);
    const from = server.seen.length;
    server.sandbox.setFaults([parseFault("POST /datasets/*/metadata reset times=1")]);
    const ran = await sync();
    expect(ran.exit, ran.err).toBe(0);
    expect(fields(from)).toEqual(["kb_path", ...all]);
    const path = /\/datasets\/[^/]+\/metadata$/;
    const asked = server.seen.slice(from).filter((each) => path.test(each.path));
    expect(asked.map(({ method }) => method).join(" ")).toMatch(/^GET GET POST GET POST GET POST/);
  });

  test("that the server rejects is sent once", async () => {
    await write(dir, three);
    const from = server.seen.length;
    server.sandbox.setFaults([parseFault("POST /datasets/*/metadata status=400")]);
    const ran = await sync();
    expect(ran.exit, ran.err).toBe(10);
    expect(fields(from)).toEqual(["kb_path"]);
  });
});

describe("a rate limit", () => {
  const values = /POST .*\/documents\/metadata$/;

  test("is waited for on metadata writes and on deletes", async () => {
    await write(dir, three);
    const asked = ["--wait-for-limit", "--prune", "--max-delete", "100%"];
    const first = await sync(asked, {
      ...(await through(limitedOnce(values))),
      around: shortMinutes,
    });
    expect(first.exit, first.err).toBe(0);
    expect(first.err).toContain("waiting 60s");
    expect(await hashes()).toEqual([valid, valid, valid]);
    await write(dir, { "a.md": null });
    const second = await sync(asked, {
      ...(await through(limitedOnce(/^DELETE /))),
      around: shortMinutes,
    });
    expect(second.exit, second.err).toBe(0);
    expect(actions(second.out)).toEqual(["delete a.md"]);
  });

  test("on a metadata write leaves documents that the next sync adopts", async () => {
    await write(dir, three);
    const ran = await sync([], await through(limitedOnce(values, Infinity)));
    expect(ran.exit).toBe(7);
    expect(actions(ran.out)).toEqual(["left a.md", "left people/leave.md", "left prices.csv"]);
    expect(ran.err).toContain("3 files: 3 left");
    expect(actions((await sync()).out)).toEqual([
      "adopt a.md",
      "adopt people/leave.md",
      "adopt prices.csv",
    ]);
  });

  test("before an update prevents new content under an old hash", async () => {
    await write(dir, three);
    await sync();
    await write(dir, { "a.md": "changed", "new.md": "new" });
    const ran = await sync([], await through(limitedOnce(values)));
    expect(ran.exit).toBe(7);
    expect(actions(ran.out)).toEqual(["left a.md", "left new.md"]);
    expect((await stored()).get("a.md")?.text).toBe("first");
  });

  test("on a delete leaves this document and the others", async () => {
    await write(dir, { ...three, "b.md": "b" });
    await sync();
    await write(dir, { "a.md": null, "b.md": null });
    const asked = ["--prune", "--yes", "--concurrency", "1"];
    const ran = await sync(asked, await through(limitedOnce(/^DELETE /)));
    expect(ran.exit).toBe(7);
    expect(actions(ran.out)).toEqual(["left a.md", "left b.md"]);
    expect(await names()).toHaveLength(4);
  });
});

test("a rate limit leaves the documents of an import, which the next one or --wait-for-limit sends", async () => {
  await write(dir, three);
  await sync();
  const folder = `${dir} exported`;
  await run(["export", kb, folder], {});
  // Any of them: the order of the export is that in which concurrent uploads were created.
  const upload = /create-by/;
  const copy = "Copy";
  const line = ["import", folder, "--concurrency", "1"];
  const left = await run([...line, "--name", copy], await through(limitedOnce(upload)));
  expect(left.exit, left.err).toBe(7);
  expect(actions(left.out).filter((row) => row.startsWith("left"))).toHaveLength(3);
  expect(left.err).toContain("3 documents: 3 left");
  const waiting = { ...(await through(limitedOnce(upload))), around: shortMinutes };
  const ran = await run([...line, "--into", copy, "--wait-for-limit"], waiting);
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).toContain("waiting 60s");
  expect((await run(["verify", folder, copy], {})).exit).toBe(0);
});

test("a document that is deleted while it is indexed is reported as failed", async () => {
  await write(dir, three);
  let created = 0;
  const proxy = await through(async (method, path) => {
    if (/create-by/.test(path)) created++;
    if (method !== "GET" || !/\/documents\?/.test(path) || created < 3) return;
    await run(["doc", "delete", kb, "a.md", "--yes", "--if-exists"], {});
  });
  const ran = await sync([], proxy);
  expect(ran.exit, ran.err).toBe(10);
  expect(actions(ran.out)).toEqual(["create people/leave.md", "create prices.csv", "failed a.md"]);
});

/** A sync that watches: each event happens once the sync before it is done. */
async function watched(
  flags: readonly string[],
  interrupt: AbortController,
  events: readonly (() => unknown)[],
) {
  let info = () => {};
  const watching = () => new Promise<void>((resolve) => (info = resolve));
  return sync(["--watch", "--retries", "0", ...flags], {
    signal: interrupt.signal,
    files: {
      async *watch() {
        for (const event of events) {
          await watching();
          await event();
          yield undefined;
        }
      },
    },
    around: (host) => ({
      ...host,
      stderr: {
        ...host.stderr,
        write(text) {
          if (String(text).startsWith("watching")) info();
          return host.stderr.write(text);
        },
      },
    }),
  });
}

test("--watch continues after an invalid file and after a network error", async () => {
  await write(dir, { "a.md": "", "b.md": "b" });
  const interrupt = new AbortController();
  const ran = await watched([], interrupt, [
    () => {
      server.sandbox.setFaults([parseFault("GET * reset")]);
      return write(dir, { "a.md": "whole" });
    },
    () => server.sandbox.setFaults([]),
    () => interrupt.abort("SIGINT"),
  ]);
  expect(ran.exit, ran.err).toBe(130);
  expect(ran.err).toMatch(/press Ctrl-C to stop\nstopped\n$/); // no request was open
  expect(ran.out).toContain("failed\ta.md\tthe file is empty\t");
  expect(ran.err.match(/retrying after the next change/g)).toHaveLength(2);
  expect(await names()).toEqual(["a.md", "b.md"]);
});

test("--watch sends unchanged files again only once", async () => {
  await write(dir, { "a.md": "a", "b.md": "b" });
  expect((await sync()).exit).toBe(0);
  const interrupt = new AbortController();
  const ran = await watched(["--rewrite"], interrupt, [
    () => write(dir, { "a.md": "other" }),
    () => interrupt.abort("SIGINT"),
  ]);
  expect(actions(ran.out)).toEqual(["update a.md", "update a.md", "update b.md"]);
});

describe("flags", () => {
  test("--concurrency applies in a shard", async () => {
    await write(dir, three);
    let open = 0;
    let both = () => {};
    const met = new Promise<void>((resolve) => (both = resolve));
    const proxy = await through(async (_, path) => {
      if (!/create-by/.test(path)) return;
      if (++open === 3) both();
      if (open > 1) await met; // a shard begins with one; the next two are sent together
    });
    const ran = await sync(["--shard", "1/1", "--concurrency", "2"], proxy);
    expect(ran.exit, ran.err).toBe(0);
  });

  test("--match uses the path without the prefix, and reports a pattern without matches", async () => {
    await write(dir, three);
    const values = ["--prefix", "hr", "--metadata", "team={1}", "--no-wait"];
    const ran = await sync([...values, "--match", "peo*/**", "--match", "hr/**"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain('--match "hr/**" matches no files');
    expect(ran.err).not.toContain('--match "peo*/**"');
    const shown = await run(
      [
        "doc",
        "show",
        kb,
        "hr/people/leave.md",
        "--jq",
        '.doc_metadata[] | select(.name == "team").value',
      ],
      {},
    );
    expect(shown.out).toBe("ple\n");
  });

  test("--prefix hr/ equals --prefix hr", async () => {
    await write(dir, three);
    await sync(["--prefix", "hr"]);
    const ran = await sync(["--prefix", "hr/"]);
    expect(ran).toMatchObject({ exit: 0, out: "" });
  });

  test.each([["."], ["../x"], ["a//b"], ["/a"], [""]])(
    "--prefix %j is rejected",
    async (prefix) => {
      await write(dir, three);
      expect((await sync(["--prefix", prefix, "--dry-run"])).exit).toBe(2);
    },
  );

  test("--max-delete is validated in a dry run", async () => {
    await write(dir, three);
    expect((await sync(["--max-delete", "abc", "--dry-run"])).exit).toBe(2);
  });
});
