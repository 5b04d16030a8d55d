import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import type { RawHost } from "../../../src/host/host.ts";
import { parseFault } from "../../../src/sandbox/http/faults.ts";
import { actions, contentsOf, write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryFolder } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryFolder();
let number = 0;
let kb = "";
let dir = "";

beforeEach(async () => {
  dir = join(home, `dir ${++number}`);
  const made = await run(
    ["create", `Base ${number}`, "--indexing-technique", "economy", "-o", "name"],
    {},
  );
  kb = made.out.trim();
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

/** Refuses a request with this text (403), or lets it pass. */
type Meddle = (method: string, path: string) => Promise<string | void> | string | void;

const proxies = new Set<ReturnType<typeof createServer>>();
afterEach(() => {
  for (const proxy of proxies) proxy.close();
  proxies.clear();
});

/** The environment of a line whose requests are looked at on their way. */
async function through(meddle: Meddle): Promise<Required<Pick<World, "env">>> {
  const proxy = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer); // no encoding was set
    const { method = "", url = "" } = request;
    const message = await meddle(method, url);
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
/** Refuses the first of the requests that match. */
const limitedOnce = (pattern: RegExp, most = 1): Meddle => {
  let times = 0;
  return (method, path) =>
    pattern.test(`${method} ${path}`) && times++ < most ? limit : undefined;
};
/** A minute is as long as nothing. */
const shortMinutes = (host: RawHost): RawHost => ({
  ...host,
  sleep: (ms, signal) => host.sleep(ms === 60_000 ? 0 : ms, signal),
});

describe("--prune leaves alone", () => {
  test.each([["nowhere"], ["../"]])(
    "what lies below a link that leads to %s in place of a folder",
    async (target) => {
      await write(dir, { ...three, "p/sub/b.md": "b", "p/sub/c/d.md": "d", "p/subs.md": "e" });
      await sync();
      await rm(join(dir, "p", "sub"), { recursive: true });
      await rm(join(dir, "p", "subs.md"));
      await symlink(target, join(dir, "p", "sub"));
      const ran = await sync(["--prune", "--max-delete", "100%"]);
      expect(actions(ran.out)).toEqual(["delete p/subs.md"]);
    },
  );

  test("everything where the directory cannot be read", async () => {
    await write(dir, three);
    await sync();
    const list = (path: string) =>
      Promise.reject(Object.assign(new Error("EACCES"), { code: "EACCES", path }));
    const ran = await sync(["--prune", "--yes"], { files: { list } });
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("--prune would delete every document");
    expect(await names()).toHaveLength(3);
  });

  test("everything where no file can be read", async () => {
    await write(dir, three);
    await sync();
    await rm(dir, { recursive: true });
    await write(dir, { "x/y": null });
    await symlink("nowhere", join(dir, "people"));
    const ran = await sync(["--prune", "--yes"]);
    expect(ran.exit).toBe(2);
    expect(await names()).toHaveLength(3);
  });

  test("files that patterns leave out and that are there", async () => {
    await write(dir, { ...three, "old/x.csv": "x", "u\u0308.csv": "u", "gone.csv": "g" });
    await sync();
    await write(dir, { "gone.csv": null, ".kbignore": "old/\n" });
    const flags = ["--include", "**/*.md", "--exclude", "people/**"];
    const ran = await sync([...flags, "--prune", "--max-delete", "1"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(actions(ran.out)).toEqual(["delete gone.csv"]);
  });
});

test("--prune deletes what lay in a folder in whose place a file is", async () => {
  await write(dir, { ...three, "guide/x.md": "x" });
  await sync();
  await rm(join(dir, "guide"), { recursive: true });
  await write(dir, { guide: "x" });
  const ran = await sync(["--prune", "--max-delete", "1"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(actions(ran.out)).toEqual(["delete guide/x.md"]);
});

test("an ignore file is read only where it is a file of the directory, and not endless", async () => {
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
  expect(large.err).toContain("b/.gitignore is too large");
});

test("an ignore file that is a link to nowhere leaves nothing out", async () => {
  await write(dir, three);
  await symlink("nowhere", join(dir, ".gitignore"));
  expect((await sync()).exit).toBe(0);
  expect(await names()).toHaveLength(3);
});

describe("names of fields", () => {
  test("of the server and of the sync are left out of front matter, with one line", async () => {
    const long = "x".repeat(256);
    const head = `---\nsource: x\nkb_hash: y\n? ${long}\n: 1\nowner: Ann\n---\n`;
    await write(dir, { "a.md": `${head}a`, "b.md": `${head}b` });
    const flags = ["--metadata-from", "front-matter"];
    const ran = await sync(flags);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err.match(/no names of fields/g)).toHaveLength(1);
    expect(ran.err).toContain("kb_hash, source");
    expect(await hashes()).toEqual([valid, valid]);
    const again = await sync(flags);
    expect(again).toMatchObject({ exit: 0, out: "" });
  });

  test.each([["source=x"], ["kb_hash=zz"], ["uploader=me"]])(
    "--metadata %s is refused",
    async (text) => {
      await write(dir, three);
      const before = server.seen.length;
      const ran = await sync(["--metadata", text]);
      expect(ran.exit).toBe(2);
      expect(writes(before)).toEqual([]);
    },
  );
});

describe("a file that changes while it is synced", () => {
  /** Does something after a file was read for the first time. */
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

  test("has the hash of what was sent", async () => {
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
    "%s is gone: it is told, the others are there",
    async (name) => {
      await write(dir, three);
      const ran = await sync(
        [],
        afterReading(name, () => write(dir, { [name]: null })),
      );
      expect(ran.exit, ran.err).toBe(10);
      expect(ran.out).toMatch(`failed\t${name}\t\tit cannot be read: file not found`);
      expect(await hashes()).toEqual([valid, valid]);
    },
  );
});

describe("--no-wait", () => {
  test("comes to rest", async () => {
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

  test("leaves hashes that hold where only values change", async () => {
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

describe("the rate limit", () => {
  const values = /POST .*\/documents\/metadata$/;

  test("is waited for when values are written, and when documents are deleted", async () => {
    await write(dir, three);
    const asked = ["--wait-for-limit", "--prune", "--max-delete", "100%"];
    const first = await sync(asked, {
      ...(await through(limitedOnce(values))),
      around: shortMinutes,
    });
    expect(first.exit, first.err).toBe(0);
    expect(first.err).toContain("waiting a minute");
    expect(await hashes()).toEqual([valid, valid, valid]);
    await write(dir, { "a.md": null });
    const second = await sync(asked, {
      ...(await through(limitedOnce(/^DELETE /))),
      around: shortMinutes,
    });
    expect(second.exit, second.err).toBe(0);
    expect(actions(second.out)).toEqual(["delete a.md"]);
  });

  test("met when values are written leaves documents that the next sync adopts", async () => {
    await write(dir, three);
    // Once for the marks of new documents, and once for their hashes.
    const ran = await sync([], await through(limitedOnce(values, 2)));
    expect(ran.exit).toBe(7);
    expect(actions(ran.out)).toEqual(["left a.md", "left people/leave.md", "left prices.csv"]);
    expect(ran.err).toContain("3 files: 3 left");
    expect(actions((await sync()).out)).toEqual([
      "adopt a.md",
      "adopt people/leave.md",
      "adopt prices.csv",
    ]);
  });

  test("met before an update lets no content change under a hash that says otherwise", async () => {
    await write(dir, three);
    await sync();
    await write(dir, { "a.md": "changed", "new.md": "new" });
    const ran = await sync([], await through(limitedOnce(values)));
    expect(ran.exit).toBe(7);
    expect(actions(ran.out)).toEqual(["left a.md", "left new.md"]);
    expect((await stored()).get("a.md")?.text).toBe("first");
  });

  test("met by a delete leaves it and the others", async () => {
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

test("a document that is deleted while it is waited for is told as failed", async () => {
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

test("--watch goes on after a file that is no document, and after a network that fails", async () => {
  await write(dir, { "a.md": "", "b.md": "b" });
  const interrupt = new AbortController();
  let info = () => {};
  const watching = () => new Promise<void>((resolve) => (info = resolve));
  const events = [
    () => {
      server.sandbox.setFaults([parseFault("GET * reset")]);
      return write(dir, { "a.md": "whole" });
    },
    async () => server.sandbox.setFaults([]),
    async () => interrupt.abort("SIGINT"),
  ];
  const ran = await sync(["--watch", "--retries", "0"], {
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
  expect(ran.exit, ran.err).toBe(130);
  expect(ran.err).toMatch(/Ctrl-C ends it\nerror: interrupted\n$/); // nothing was on its way
  expect(ran.err).toContain("a.md is left out: it is empty");
  expect(ran.err.match(/the next change tries again/g)).toHaveLength(2);
  expect(await names()).toEqual(["a.md", "b.md"]);
});

describe("flags", () => {
  test("--concurrency holds in a shard, too", async () => {
    await write(dir, three);
    let open = 0;
    let both = () => {};
    const met = new Promise<void>((resolve) => (both = resolve));
    const proxy = await through(async (_, path) => {
      if (!/create-by/.test(path)) return;
      if (++open === 2) both();
      await met; // an upload is not answered before another one is on its way
    });
    const ran = await sync(["--shard", "1/1", "--concurrency", "2"], proxy);
    expect(ran.exit, ran.err).toBe(0);
  });

  test("--match sees the path that --include sees, and one that fits nothing is told", async () => {
    await write(dir, three);
    const values = ["--prefix", "hr", "--metadata", "team={1}", "--no-wait"];
    const ran = await sync([...values, "--match", "peo*/**", "--match", "hr/**"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain('--match "hr/**" fits no file');
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

  test("--prefix hr/ is --prefix hr", async () => {
    await write(dir, three);
    await sync(["--prefix", "hr"]);
    const ran = await sync(["--prefix", "hr/"]);
    expect(ran).toMatchObject({ exit: 0, out: "" });
  });

  test.each([["."], ["../x"], ["a//b"], ["/a"], [""]])("--prefix %j is refused", async (prefix) => {
    await write(dir, three);
    expect((await sync(["--prefix", prefix, "--dry-run"])).exit).toBe(2);
  });

  test("--max-delete is checked in a dry run, too", async () => {
    await write(dir, three);
    expect((await sync(["--max-delete", "abc", "--dry-run"])).exit).toBe(2);
  });
});

test("--since reads what links and other repositories bring in", async () => {
  const given: string[] = [];
  const spawn: RawHost["spawn"] = (command, args, { env }) => {
    given.push(...Object.keys(env));
    const { status, stdout } = spawnSync(command, args, { encoding: "utf8", env });
    return { exit: Promise.resolve(status ?? 127), output: Promise.resolve(stdout), kill() {} };
  };
  const commit = (folder: string) => {
    const own = ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.com"];
    for (const args of [
      ["init", "-q"],
      ["add", "-A"],
      ["commit", "-qm", "all"],
    ])
      expect(spawnSync("git", [...own, ...args]).status).toBe(0);
  };
  await write(dir, { "texts/a.md": "one", "texts/same.md": "same", "inner/c.md": "one" });
  await symlink("texts/a.md", join(dir, "b.md"));
  await symlink("texts", join(dir, "linked"));
  commit(join(dir, "inner"));
  commit(dir);
  expect((await sync([])).exit).toBe(0);
  await write(dir, { "texts/a.md": "two", "inner/c.md": "two" });
  const ran = await sync(["--since", "HEAD"], { spawn });
  expect(ran.exit, ran.err).toBe(0);
  expect(actions(ran.out)).toEqual([
    "update b.md",
    "update inner/c.md",
    "update linked/a.md",
    "update texts/a.md",
  ]);

  // Nothing that the repository names is started, and git is given no key.
  const [hook, ran2] = [join(dir, "inner", "hook"), join(home, "hooked")];
  await writeFile(hook, `#!/bin/sh\necho x >> '${ran2}'\ncat\n`, { mode: 0o755 });
  await write(dir, { ".gitattributes": "* filter=x diff=x\n" });
  for (const name of ["core.fsmonitor", "filter.x.clean", "diff.external", "diff.x.textconv"])
    spawnSync("git", ["-C", dir, "config", name, hook]);
  spawnSync("git", ["-C", dir, "config", "filter.x.required", "true"]);
  expect((await sync(["--since", "HEAD"], { spawn })).exit).toBe(0);
  expect(existsSync(ran2)).toBe(false);
  expect(given).not.toContain("KB_KEY");
});
