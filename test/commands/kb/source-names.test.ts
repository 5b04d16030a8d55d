import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { spawnChild } from "../../../src/host/child-process.ts";
import type { RawHost } from "../../../src/host/host.ts";
import { actions, write } from "../../lib/directory.ts";
import { listening } from "../../lib/listening.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { syncedBases, textsOf } from "../../lib/synced-base.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";
beforeEach(async () => {
  ({ kb, dir } = await newBase());
});

/** The second look at a page that is gone comes at once; no wait ends before the output of a program does. */
const waits = new Map([
  [90_000, 0],
  [3000, 60_000],
]);
const around = (host: RawHost): RawHost => ({
  ...host,
  sleep: (ms, signal) => host.sleep(waits.get(ms) ?? ms, signal),
});
const sync = (source: string, ...flags: readonly string[]) =>
  server.cli(["kb", "sync", kb, source, "--yes", ...flags], {
    folder: home,
    spawn: spawnChild,
    around,
  });
const documents = async () => Object.keys(await textsOf(server, kb)).sort();

type Tree = Readonly<Record<string, string>>;

/** Pages of the site, by the path of their address. */
let pages: Tree = {};
const site = new URL(
  await listening(
    createServer(({ url = "" }, response) => {
      const text = pages[url];
      const urls = Object.keys(pages).map((path) => `<url><loc>${site}${path}</loc></url>`);
      if (url === "/sitemap.xml") response.end(`<urlset>${urls.join("")}</urlset>`);
      else if (text === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": "text/plain" }).end(text);
    }),
  ),
).origin;

/** Seconds of the next commit. */
let commits = 1e9;

/** The mode of a name in a tree of git. */
const modeOf = (name: string): string => {
  if (name.startsWith("link")) return "120000";
  return name.startsWith("module") ? "160000" : "100644";
};

/** Each source with these files, and its address; a tree again is its next state. */
const sources: Readonly<Record<string, (tree: Tree) => Promise<string>>> = {
  async directory(tree) {
    await write(dir, tree);
    return dir;
  },
  async git(tree) {
    const path = join(home, `repository-${kb}`);
    await mkdir(path, { recursive: true });
    // No disk need have such names.
    const files = Object.entries(tree).map(([name, text]) => {
      const quoted = [...Buffer.from(name)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`);
      const mode = modeOf(name);
      const content = mode === "160000" ? "1".repeat(40) : "inline";
      const data = content === "inline" ? `data ${Buffer.byteLength(text)}\n${text}\n` : "";
      return `M ${mode} ${content} "${quoted.join("")}"\n${data}`;
    });
    const input = `commit refs/heads/main\ncommitter A <a@example.com> ${commits++} +0000\ndata 0\ndeleteall\n${files.join("")}`;
    execFileSync("git", ["init", "-q", "--bare", path]);
    execFileSync("git", ["-C", path, "fast-import", "--quiet", "--force"], { input });
    return `git+file://${path}#main`;
  },
  async program(tree) {
    const path = join(home, `source-${kb}.mjs`);
    const code = `const tree = ${JSON.stringify(tree)};
const [call, path] = process.argv.slice(2);
if (call === "get") process.stdout.write(tree[path]);
else {
  for (const path of Object.keys(tree)) console.log(JSON.stringify({ path, fingerprint: tree[path] }));
  console.log('{"end":true,"complete":true}');
}`;
    await writeFile(path, code);
    return `exec:'${process.execPath}' '${path}'`;
  },
  async site(tree) {
    pages = Object.fromEntries(
      Object.entries(tree).map(([path, text]) => [
        `/${path.split("/").map(encodeURIComponent).join("/").replace(/\.md$/, "")}`,
        text,
      ]),
    );
    return `web+${site}/sitemap.xml`;
  },
};
const sourceOf = (name: string, tree: Tree) => sources[name]?.(tree) ?? Promise.resolve("");
const long = `${"x".repeat(1000)}.md`;
const shownLong = `${"x".repeat(1000)}…`;

describe("names that no document can have are reported, and the rest is synced", () => {
  const signs = "invalid path: it has a control character or a backslash";
  const unicode = "invalid path: it is not valid Unicode";
  const steps = "invalid path: it leaves the source or has an empty part";
  const relative = "invalid path: it is not relative";
  const tooLong = "invalid path: longer than 1,000 characters";
  const rows = sampled(3, [
    [
      "program",
      {
        "back\\slash.md": signs,
        "tab\t.md": signs,
        "nul\0.md": signs,
        "half\ud800.md": unicode,
        "../up.md": steps,
        "a//b.md": steps,
        "./c.md": steps,
        '""': steps,
        "/etc/passwd.md": relative,
        "C:/autoexec.md": relative,
        [shownLong]: tooLong,
      },
    ],
    [
      "git",
      {
        "back\\slash.md": signs,
        "tab\t.md": signs,
        "new\nline.md": signs,
        "bell\u0007.md": signs,
        "caf\ufffd.md": unicode,
        [shownLong]: tooLong,
      },
    ],
    ["site", { [shownLong]: tooLong }],
  ]);
  test.each(rows)("%s", async (source, names) => {
    const kept = { "a.md": "a", "Q: how to.md": "q", "+, %41 [x].md": "p" };
    const before = await sync(
      await sourceOf(source, { ...kept, "backslash.md": "b", "gone.md": "g" }),
    );
    expect(before.exit, before.err).toBe(0);
    const invalid = Object.fromEntries(
      Object.keys(names).map((name) => [
        name === shownLong ? long : name.replace(/^""$/, ""),
        "text",
      ]),
    );
    const address = await sourceOf(source, { ...kept, ...invalid });
    const ran = await sync(address, "--prune", "-o", "json");
    expect(ran.exit, ran.err).toBe(10);
    const rows = JSON.parse(ran.out) as { action: string; path: string; note: string }[];
    const failed = rows.filter(({ action }) => action === "failed");
    expect(Object.fromEntries(failed.map(({ path, note }) => [path, note]))).toEqual(names);
    const left = Object.keys(kept).sort();
    expect(await documents()).toEqual(source === "site" ? left : [...left, "backslash.md"]);
    const excluded = await sync(
      address,
      ...["a.md", "Q*", "+*"].flatMap((name) => ["--include", name]),
    );
    expect(excluded.exit, excluded.out).toBe(0);
  });
});

test("git: symlinks, submodules and invalid names are reported", async () => {
  const tree = {
    "a.md": "a",
    "link.md": "a.md",
    "link.png": "x",
    linked: "..",
    "module/x": "m",
    "tab\t.md": "t",
  };
  const address = await sourceOf("git", tree);
  const ran = await sync(address);
  expect(ran.exit).toBe(10);
  expect(ran.out.replaceAll(/\t(?=\t)|\t[\w-]*$/gm, "").split("\n")).toEqual([
    "create\ta.md",
    "failed\tlink.md\ta symlink is not followed: exclude it, or sync a checkout",
    "skip\tlink.png\tunsupported file type",
    "failed\tlinked\ta symlink is not followed: exclude it, or sync a checkout",
    "failed\tmodule/x\ta submodule is not read: exclude it, or sync its own repository",
    "failed\ttab\\t.md\tinvalid path: it has a control character or a backslash",
    "",
  ]);
  const flags = ["--include", "*.md", "--exclude", "link*", "--exclude", "tab*"];
  expect((await sync(address, ...flags, "--exclude", "module/x/")).exit).toBe(0);
});

test("a directory with a pipe and with a name of bytes that are no text", async () => {
  await write(dir, { "a.md": "a", "caf\u00e9.md": "c", "gone.md": "g" });
  expect((await sync(dir)).exit).toBe(0);
  execFileSync("sh", ["-c", 'mkfifo "$0"', join(dir, "pipe.md")]);
  const latin1 = Buffer.from(join(dir, "caf\u00e9.md"), "latin1");
  await write(dir, { "caf\u00e9.md": null, "gone.md": null });
  await writeFile(latin1, "c");
  const ran = await sync(dir, "--prune");
  expect(ran.exit).toBe(10);
  expect(actions(ran.out)).toEqual(["delete gone.md", "failed caf\ufffd.md", "failed pipe.md"]);
  expect(await documents()).toEqual(["a.md", "caf\u00e9.md"]);
});

describe("names that differ", () => {
  test.each(["directory", "site"])("in case are two documents: %s", async (source) => {
    const tree = { "b/x.md": "lower", "B/x.md": "upper", "x.md": "x" };
    const address = await sourceOf(source, tree);
    const ran = await sync(address);
    expect(ran.exit, ran.out).toBe(0);
    expect(await textsOf(server, kb)).toEqual(tree);
    expect((await sync(address, "--prune")).err).toContain("3 files: 3 unchanged");
  });

  test.each(sampled(5, Object.keys(sources)))(
    "in Unicode form are both reported and kept, and the rest is synced: %s",
    async (source) => {
      await sync(await sourceOf(source, { "\u00fc.md": "old" }));
      const ran = await sync(
        await sourceOf(source, { "\u00fc.md": "1", "u\u0308.md": "2", "x.md": "x" }),
        "--prune",
      );
      expect(ran.exit).toBe(10);
      expect(actions(ran.out)).toEqual(["create x.md", "failed \u00fc.md", "failed \u00fc.md"]);
      expect(ran.out).toContain("has the same document name: exclude one of them");
      expect(await textsOf(server, kb)).toEqual({ "\u00fc.md": "old", "x.md": "x" });
    },
  );
});

const pointer =
  "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

test.each(sampled(5, Object.keys(sources)))(
  "a pointer of Git LFS is reported, and its document stays: %s",
  async (source) => {
    await sync(await sourceOf(source, { "a.md": "a", "guide.md": "the guide" }));
    const ran = await sync(await sourceOf(source, { "a.md": "a", "guide.md": pointer }), "--prune");
    expect(ran.exit).toBe(10);
    expect(ran.out).toMatch(/^failed\tguide.md\ta pointer of Git LFS, not the content: /m);
    expect(await textsOf(server, kb)).toEqual({ "a.md": "a", "guide.md": "the guide" });
  },
);

const utf16 = (text: string) => Buffer.from(text, "utf16le");
const unfit: readonly (readonly [string, Uint8Array, string])[] = [
  ["lfs.pdf", Buffer.from(pointer), "a pointer of Git LFS, not the content"],
  [
    "hawser.csv",
    Buffer.from(pointer.replace("git-lfs", "hawser")),
    "a pointer of Git LFS, not the content",
  ],
  [
    "crlf.md",
    Buffer.from(pointer.replaceAll("\n", "\r\n")),
    "a pointer of Git LFS, not the content",
  ],
  [
    "annex.md",
    Buffer.from("/annex/objects/SHA256E-s3--ab.md\n"),
    "a pointer of git-annex, not the content",
  ],
  [
    "nul.md",
    Buffer.from("a\nb\0c\n"),
    "contains a NUL character (line 2), which servers delete or reject",
  ],
  ["bare.md", utf16("# Title"), "encoded as UTF-16 without a byte order mark, not UTF-8"],
  ["u32.md", Buffer.from("fffe000023000000", "hex"), "encoded as UTF-32, not UTF-8"],
  ["sjis.md", Buffer.from([0x23, 0x0a, 0x93, 0xfa, 0x96, 0x7b]), "not valid UTF-8 text (line 2)"],
  ["image.md", Buffer.from([0xff, 0xd8, 0, 1, 2]), "the content is binary"],
];

test("sync, lint and preview say the same about a content that is not a text", async () => {
  await write(dir, Object.fromEntries(unfit.map(([name, bytes]) => [name, bytes])));
  await write(dir, {
    "bom.md": "\ufeff# kept",
    "u16.md": utf16("\ufeff# x"),
    "about.md": `It says:\n\n${pointer}`,
  });
  const ran = await sync(dir, "-o", "json");
  expect(ran.exit).toBe(10);
  const rows = JSON.parse(ran.out) as { action: string; path: string; note: string }[];
  const failed = rows.filter(({ action }) => action === "failed");
  const lint = await server.cli(["kb", "lint", dir, "-o", "json"], { folder: home });
  const found = JSON.parse(lint.out) as { file: string; severity: string; problem: string }[];
  for (const [name, , problem] of unfit) {
    expect(failed.find(({ path }) => path === name)?.note).toContain(`${problem}: `);
    expect(found).toContainEqual(
      expect.objectContaining({ file: name, severity: "error", problem }),
    );
    const shown = await server.cli(["kb", "chunk", "preview", join(dir, name)], { folder: home });
    if (name.endsWith(".md")) expect(shown.err).toContain(`: ${problem}\n`);
  }
  expect(failed).toHaveLength(unfit.length);
  expect(await documents()).toEqual(["about.md", "bom.md", "u16.md"]);
});
