import { createHash } from "node:crypto";
import { symlink, truncate } from "node:fs/promises";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { actions, contentsOf, write } from "../../lib/directory.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { setFaults, syncedBases, textsOf } from "../../lib/synced-base.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";
import { turns } from "../../lib/turns.ts";
import { listening } from "../../lib/listening.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";

beforeEach(async () => {
  ({ kb, dir } = await newBase());
});

const run = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: home });
const sync = (...flags: readonly string[]) => run("sync", kb, dir, ...flags);
const contents = () => textsOf(server, kb);
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const faults = (...all: readonly string[]) => setFaults(server, all);
const writes = (from: number) =>
  server.seen
    .slice(from)
    .filter(({ method, path }) => method !== "GET" && !/download-zip/.test(path));

const three = { "a.md": "first — ü\r\n", "people/leave.md": "30 days", "prices.csv": "a,b\n" };

describe("sync", () => {
  test("creates documents byte for byte from new files; a second sync writes nothing", async () => {
    await write(dir, three);
    const first = await sync();
    expect(first.exit, first.err).toBe(0);
    expect(actions(first.out)).toEqual([
      "create a.md",
      "create people/leave.md",
      "create prices.csv",
    ]);
    expect(await contents()).toEqual(three);
    const found = await contentsOf(server.sandbox.origin, kb);
    expect(found.get("a.md")?.hash).toBe(sha256("first — ü\r\n"));
    const before = server.seen.length;
    const second = await sync();
    expect(second).toMatchObject({ exit: 0, out: "" });
    expect(second.err).toContain("3 files: 3 unchanged\n");
    expect(writes(before)).toEqual([]);
  });

  test("updates changed files in place and keeps documents of deleted files without --prune", async () => {
    await write(dir, three);
    await sync();
    const ids = await run("doc", "list", kb, "--jq", "map({(.name): .id}) | add");
    await write(dir, { "a.md": "changed", "prices.csv": "c,d\n", "people/leave.md": null });
    const ran = await sync();
    expect(actions(ran.out)).toEqual(["update a.md", "update prices.csv"]);
    expect(ran.err).toContain("1 document has no file any more; --prune deletes it\n");
    expect((await sync("--dry-run")).err).toContain("--prune deletes it");
    expect(await contents()).toEqual({
      "a.md": "changed",
      "prices.csv": "c,d\n",
      "people/leave.md": "30 days",
    });
    expect((await run("doc", "list", kb, "--jq", "map({(.name): .id}) | add")).out).toBe(ids.out);
  });

  test("--prune deletes documents without a file, of this directory only", async () => {
    await write(dir, { ...three, "b.md": "b", "c.md": "c", "d.md": "d" });
    await sync();
    const other = `${dir} of others`;
    await write(other, { "e.md": "e" });
    await run("sync", kb, other, "--prefix", "other");
    await run("doc", "add", kb, "own.md", "--text", "own");
    await write(dir, { "b.md": null });
    const ran = await sync("--prune");
    expect(ran.exit, ran.err).toBe(0);
    expect(actions(ran.out)).toEqual(["delete b.md"]);
    expect(Object.keys(await contents()).sort()).toEqual(
      ["a.md", "c.md", "d.md", "other/e.md", "own.md", "people/leave.md", "prices.csv"].sort(),
    );
  });

  test("prompts for more than --max-delete, and rejects --prune with an empty directory", async () => {
    await write(dir, three);
    await sync();
    await write(dir, { "a.md": null });
    const unconfirmed = await sync("--prune");
    expect(unconfirmed.exit).toBe(2);
    expect(unconfirmed.err).toContain("Delete 1 of 3 documents");
    expect((await sync("--prune", "--max-delete", "1")).exit).toBe(0);
    await write(dir, { "people/leave.md": null, "prices.csv": null });
    const empty = await sync("--prune", "--yes");
    expect(empty.exit).toBe(2);
    expect(empty.err).toContain("refusing to --prune everything");
    expect(Object.keys(await contents())).toHaveLength(2);
  });

  test("--rewrite sends unchanged files, too", async () => {
    await write(dir, three);
    await sync();
    const before = server.seen.length;
    const ran = await sync("--rewrite");
    expect(ran.exit, ran.err).toBe(0);
    expect(actions(ran.out)).toEqual([
      "update a.md",
      "update people/leave.md",
      "update prices.csv",
    ]);
    expect(
      writes(before).filter(({ path }) => /update-by-text|\/documents\/[^/]{36}$/.test(path)),
    ).toHaveLength(3);
    expect((await sync()).err).toContain("3 files: 3 unchanged");
  });

  test("--rewrite names chunks changed by hand, and needs --yes to lose them", async () => {
    await write(dir, three);
    await sync();
    const [id = ""] = (await run("chunk", "list", kb, "a.md", "-o", "name")).out.split("\n");
    await run("chunk", "update", kb, "a.md", id, "--content", "edited");
    const before = server.seen.length;
    const planned = await sync("--rewrite", "--dry-run");
    expect([planned.exit, planned.err]).toEqual([
      0,
      expect.stringContaining("would lose a.md: chunk 1 (edited)"),
    ]);
    const refused = await sync("--rewrite");
    expect([refused.exit, refused.err]).toEqual([
      2,
      expect.stringContaining("Send 3 unchanged files again and lose a.md: chunk 1 (edited)?"),
    ]);
    expect(writes(before)).toEqual([]);
    expect((await sync("--rewrite", "--yes")).exit).toBe(0);
    expect((await run("chunk", "list", kb, "a.md")).out).not.toContain("edited");
  });

  test("--dry-run prints the plan with the size to embed, and sends nothing", async () => {
    await write(dir, three);
    const before = server.seen.length;
    const ran = await sync("--dry-run");
    expect(ran.out).toBe(
      "create\ta.md\t11 characters to index\t\ncreate\tpeople/leave.md\t7 characters to index\t\ncreate\tprices.csv\t4 bytes to index\t\n",
    );
    expect(ran.err).toContain("3 files: 3 to create; 18 characters and 4 bytes to index\n");
    expect(writes(before)).toEqual([]);
  });
});

describe("existing documents", () => {
  test("are adopted if the content is the same; otherwise they conflict until --adopt", async () => {
    await write(dir, { "a.md": "same", "b.md": "new" });
    await run("doc", "add", kb, "a.md", "--text", "same");
    await run("doc", "add", kb, "b.md", "--text", "old");
    await run("doc", "wait", kb);
    const planned = await sync("--dry-run");
    const ran = await sync();
    for (const { exit, out, err } of [planned, ran]) {
      expect(exit).toBe(10);
      expect(actions(out)).toEqual(["adopt a.md", "conflict b.md"]);
      expect(out).toContain("probably left by an interrupted sync");
      expect(err).toContain(
        `hint: to replace those in conflict: \`kb sync ${kb} '${dir}' --adopt\``,
      );
    }
    expect(await contents()).toEqual({ "a.md": "same", "b.md": "old" });
    const taken = await sync("--adopt");
    expect(taken.exit, taken.err).toBe(0);
    expect(actions(taken.out)).toEqual(["update b.md"]);
    expect(await contents()).toEqual({ "a.md": "same", "b.md": "new" });
    expect((await sync()).err).toContain("2 files: 2 unchanged");
  });

  test("that are disabled are reported and not duplicated", async () => {
    await write(dir, three);
    await sync();
    await run("doc", "disable", kb, "a.md");
    await write(dir, { "a.md": "changed" });
    const ran = await sync();
    expect(ran.out).toMatch(
      /^skip\ta\.md\tthe document is disabled and its content differs\t[0-9a-f-]{36}\n$/,
    );
    expect((await contents())["a.md"]).toBe("first — ü\r\n");
  });
});

describe("selection of files", () => {
  test("applies patterns and ignore files and skips hidden files", async () => {
    await write(dir, {
      "a.md": "a",
      "b.txt": "b",
      "draft.md": "d",
      "tmp/c.md": "c",
      "sub/secret.md": "s",
      "sub/kept.md": "k",
      ".hidden.md": "h",
      ".kbignore": "draft.md\ntmp/\n",
      "sub/.gitignore": "secret.md\n",
    });
    const ran = await sync("--include", "**/*.md", "--exclude", "x/**", "--dry-run");
    expect(actions(ran.out)).toEqual(["create a.md", "create sub/kept.md"]);
  });

  test.each<[string, Readonly<Record<string, string | Uint8Array>>, string]>([
    ["an empty file", { "a.md": "" }, "failed\ta.md\tthe file is empty\t"],
    [
      "bytes that are not text",
      { "a.txt": new Uint8Array([0xff, 0xfe, 0]) },
      "failed\ta.txt\tnot valid utf-16le text\t",
    ],
  ])("%s is reported with exit code 10; other files are synced", async (_, tree, line) => {
    await write(dir, { ...tree, "b.md": "b" });
    const planned = await sync("--dry-run");
    expect(planned.err).toContain("2 files: 1 to create, 1 would fail; ");
    expect(planned.err).toContain("error: would fail to sync 1 of 2 files\n");
    const ran = await sync();
    expect(ran.exit).toBe(10);
    expect(ran.out).toContain(line);
    expect(ran.err).toContain("2 files: 1 created, 1 failed; ");
    expect(ran.err).toContain("error: failed to sync 1 of 2 files\n");
    expect(await contents()).toEqual({ "b.md": "b" });
  });

  test("unsupported file types are counted without an error", async () => {
    await write(dir, { "a.md": "a", "b.zip": "b", "c.png": "c" });
    const ran = await sync();
    expect(ran.exit, ran.err).toBe(0);
    expect(actions(ran.out)).toEqual(["create a.md", "skip b.zip", "skip c.png"]);
    expect(ran.err).toContain("3 files: 1 created, 2 skipped; ");
  });

  test("symlink loops are not followed", async () => {
    await write(dir, { "a.md": "a", "sub/b.md": "b" });
    await symlink("..", join(dir, "sub", "up"));
    expect(actions((await sync()).out)).toEqual(["create a.md", "create sub/b.md", "skip sub/up"]);
  });

  test("names of uploaded files in directories, and long names", async () => {
    const deep = `${"d".repeat(90)}/${"e".repeat(90)}/${"f".repeat(60)}.md`;
    await write(dir, { "x/prices.csv": "a\n", [deep]: "deep" });
    expect((await sync()).exit).toBe(0);
    const names = Object.keys(await contents());
    expect(names).toContain("x∕prices.csv");
    const long = names.find((name) => name.endsWith(".md")) ?? "";
    expect([...long]).toHaveLength(200);
    expect(long.endsWith(`/${"f".repeat(60)}.md`)).toBe(true);
    expect((await sync()).out).toBe("");
  });

  test.each([["nowhere"], ["file"]])("rejects a path that is not a directory: %s", async (name) => {
    await write(home, { file: "x" });
    const ran = await run("sync", kb, join(home, name));
    expect(ran.exit).toBe(2);
  });
});

describe("metadata", () => {
  const values = async (name: string) => {
    const shown = await run(
      "doc",
      "show",
      kb,
      name,
      "--jq",
      '.doc_metadata | map(select(.id != "built-in" and (.name | startswith("kb_") | not)) | {(.name): .value}) | add',
    );
    return JSON.parse(shown.out) as object;
  };

  test("is set from front matter and from patterns of the path", async () => {
    await write(dir, {
      "teams/it/a.md": "---\nowner: Ann\npages: 3\ntags: [x, y]\n---\ntext",
      "b.md": "text",
    });
    const flags = [
      "--metadata-from",
      "front-matter",
      "--metadata",
      "team={1}",
      "--match",
      "teams/*/**",
    ];
    const ran = await sync(...flags);
    expect(ran.exit, ran.err).toBe(0);
    expect(await values("teams/it/a.md")).toEqual({
      owner: "Ann",
      pages: 3,
      tags: "x, y",
      team: "it",
    });
    expect((await sync(...flags)).out).toBe("");
    const other = await sync("--metadata-from", "front-matter", "--metadata", "team=all");
    expect(actions(other.out)).toEqual(["metadata b.md", "metadata teams/it/a.md"]);
    expect(await values("b.md")).toEqual({ team: "all" });
  });

  test("that is invalid is reported; other files are synced", async () => {
    await write(dir, { "a.md": "---\n[\n---\n", "b.md": "b" });
    const ran = await sync("--metadata-from", "front-matter");
    expect(ran.exit).toBe(10);
    expect(ran.out).toContain("failed\ta.md\tinvalid front matter, line ");
  });
});

describe("failures", () => {
  test("a failed upload is reported; other files are synced", async () => {
    await write(dir, three);
    faults("POST */create-by-file status=400");
    const ran = await sync();
    expect(ran.exit).toBe(10);
    expect(ran.out).toMatch(/failed\tprices\.csv/);
    faults();
    expect(actions((await sync()).out)).toEqual(["create prices.csv"]);
    expect(await contents()).toEqual(three);
  });

  test("a lost response does not cause a duplicate document", async () => {
    await write(dir, three);
    faults("POST */create-by-text cut-bytes=10 times=2");
    await sync("--retries", "0");
    faults();
    const ran = await sync();
    expect(ran.exit, ran.err).toBe(0);
    expect(await contents()).toEqual(three);
  });

  test("--no-wait leaves pending hashes, which the next sync completes without an upload", async () => {
    await write(dir, three);
    expect((await sync("--no-wait")).exit).toBe(0);
    for (const { hash } of (await contentsOf(server.sandbox.origin, kb)).values())
      expect(hash).toMatch(/^pending:/);
    await run("doc", "wait", kb);
    const ran = await sync();
    expect(actions(ran.out)).toEqual(["adopt a.md", "adopt people/leave.md", "adopt prices.csv"]);
    expect((await sync()).out).toBe("");
  });
});

test("after a 429 response, fewer documents are sent at a time", async () => {
  await write(
    dir,
    Object.fromEntries(Array.from({ length: 24 }, (_, at) => [`${at}.md`, `${at}`])),
  );
  const rejected: ServerResponse[] = [];
  let [arrived, passed] = [0, 0];
  let whileTwoOpen: number | undefined;
  let arriveAll = () => {};
  const repeated = new Promise<void>((resolve) => (arriveAll = resolve));
  const proxy = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer); // no encoding was set
    const creates = request.url?.endsWith("/create-by-text") ?? false;
    if (creates && ++arrived <= 3) {
      // The first three are rejected together.
      if (rejected.push(response) < 3) return;
      for (const each of rejected) {
        each.writeHead(429, { "content-type": "application/json" });
        each.end('{"code":"too_many_requests","message":"Too many"}');
      }
      return;
    }
    const isFirst = creates && ++passed === 1;
    if (passed === 3) arriveAll();
    const { "content-type": type = "", authorization = "" } = request.headers;
    const upstream = await fetch(`${server.sandbox.origin}${request.url}`, {
      method: request.method ?? "GET",
      headers: { authorization, ...(type && { "content-type": type }) },
      body: pieces.length > 0 ? Buffer.concat(pieces) : null,
    });
    const body = await upstream.text();
    // Of the three that are repeated together, one is answered before the others.
    if (creates) await repeated;
    if (creates && !isFirst && passed === 3) {
      await turns(2000);
      whileTwoOpen ??= passed - 3;
    }
    response.writeHead(upstream.status, { "content-type": "application/json" }).end(body);
  });
  const baseUrl = await listening(proxy);
  const ran = await server.cli(["kb", "sync", kb, dir, "--no-wait"], {
    env: { KB_BASE_URL: baseUrl },
  });
  proxy.close();
  expect(ran.exit, ran.err).toBe(0);
  expect([arrived, passed]).toEqual([27, 24]);
  expect(whileTwoOpen).toBe(0);
});

test("names are compared in Unicode form NFC, as systems store accents differently", async () => {
  await write(dir, { "u\u0308ber.md": "one" });
  expect(actions((await sync()).out)).toEqual(["create \u00fcber.md"]);
  await write(dir, { "u\u0308ber.md": null, "\u00fcber.md": "one" });
  expect((await sync("--prune")).out).toBe("");
  expect(await contents()).toEqual({ "\u00fcber.md": "one" });
});

rareTest("a file that is too large is reported; other files are synced", async () => {
  await write(dir, { "a.md": "small", "large.pdf": "" });
  await truncate(join(dir, "large.pdf"), 101 * 1024 * 1024);
  const ran = await sync();
  expect(ran.exit).toBe(10);
  expect(actions(ran.out)).toEqual(["create a.md", "failed large.pdf"]);
  expect(ran.out).toContain("request body too large for the proxy (413)");
  expect(await contents()).toEqual({ "a.md": "small" });
});

test("an auth error after some uploads reports that changes were made", async () => {
  await write(dir, three);
  faults("POST */create-by-text status=401 skip=1");
  const ran = await run("sync", kb, dir, "--concurrency", "1", "-o", "json");
  expect(ran.exit).toBe(4);
  const info = JSON.parse(ran.err.trim().split("\n").at(-1) ?? "") as { error: object };
  expect(info.error).toMatchObject({ http_status: 401, changed: "yes" });
});

describe("shards", () => {
  test("cover every file exactly once", async () => {
    const tree = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}.md`, `${at}`]));
    await write(dir, tree);
    const ran = await Promise.all(["1/3", "2/3", "3/3"].map((shard) => sync("--shard", shard)));
    expect(ran.map(({ exit }) => exit)).toEqual([0, 0, 0]);
    expect(ran.flatMap(({ out }) => actions(out))).toHaveLength(20);
    expect(await contents()).toEqual(tree);
    await write(dir, { "0.md": null });
    const pruned = await sync("--shard", "1/3", "--prune");
    expect(actions(pruned.out)).toEqual(["delete 0.md"]);
  });

  test.each<[readonly string[], World["env"], string]>([
    [["--shard", "4/3"], {}, "index 4 is not between 1 and 3"],
    [["--shard", "auto"], {}, "no CI variable with a shard index is set"],
    [["--shard", "auto"], { JOB_COMPLETION_INDEX: "0" }, "the number of shards is missing"],
    [["--shard", "2/3", "--prune"], {}, "--prune works only in shard 1"],
  ])("%j with %j is rejected", async (flags, env, message) => {
    await write(dir, three);
    const ran = await server.cli(["kb", "sync", kb, dir, ...flags], { ...(env && { env }) });
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
  });

  test.each([
    [{ CI_NODE_INDEX: "2", CI_NODE_TOTAL: "2" }, "auto"],
    [{ JOB_COMPLETION_INDEX: "1" }, "auto/2"],
    [{}, "2/2"],
  ])("%j selects the second of two shards", async (env, shard) => {
    await write(dir, Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((n) => [`${n}.md`, n])));
    const argv = ["kb", "sync", kb, dir, "--dry-run", "--shard", shard];
    const ran = await server.cli(argv, { env });
    expect(ran.exit, ran.err).toBe(0);
    expect(actions(ran.out)).toEqual(actions((await sync("--dry-run", "--shard", "2/2")).out));
    expect(actions(ran.out)).toEqual(["create a.md", "create d.md", "create f.md"]);
  });
});
