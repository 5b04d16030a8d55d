/** Which pages of a site become documents: lists with gaps, redirects, encodings, and pages beyond the limits. */
import { once } from "node:events";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { RawHost } from "../../../src/host/host.ts";
import { addressOf } from "../../../src/commands/kb/sources/page-list.ts";
import { afterFile } from "../../lib/cleanup.ts";
import { actions } from "../../lib/directory.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { status, testSite } from "../../lib/site.ts";
import type { Answer } from "../../lib/site.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { syncedBases, textsOf } from "../../lib/synced-base.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
const { origin, answers: site, sitemap } = await testSite();
let kb = "";
// On a busy machine, any page may take longer than the limit; test/host/thread.test.ts is about that.
const noLimit = vi.spyOn(AbortSignal, "timeout").mockReturnValue(new AbortController().signal);
afterFile(() => noLimit.mockRestore());

const html =
  (body: string | Uint8Array, type = "text/html"): Answer =>
  (response) =>
    void response.setHeader("content-type", type).end(body);
const page = (text: string) => html(`<html><main><p>${text}</p></main></html>`);
const to = (location: string, code = 301) => status(code, { location });

/** Waits end at once. */
const around = (host: RawHost): RawHost => ({
  ...host,
  sleep: (_, signal) => host.sleep(0, signal),
});
const address = `web+${origin}/sitemap.xml`;
const sync = (...flags: readonly string[]) =>
  server.cli(["kb", "sync", kb, address, "--yes", ...flags], { folder: home, around });
const contents = () => textsOf(server, kb);
const names = async () => Object.keys(await contents()).sort();

beforeEach(async () => {
  ({ kb } = await newBase());
  site.clear();
});

describe("an index of sitemaps", () => {
  const index = (...names: readonly string[]) =>
    html(
      `<sitemapindex>${names.map((name) => `<sitemap><loc>${name}</loc></sitemap>`).join("")}</sitemapindex>`,
    );

  const rows: readonly [string, string, Answer, string][] = [
    ["answers 404", "/b.xml", status(404), "/b.xml: HTTP 404"],
    ["answers 500", "/b.xml", status(500), "/b.xml: HTTP 500"],
    ["resets", "/b.xml", (response) => void response.socket?.destroy(), "failed"],
    ["is cut", "/b.xml", html("<urlset><url><loc>/y</loc></url>"), "/b.xml is not a complete"],
    ["is no sitemap", "/b.xml", page("Maintenance"), "/b.xml is not a complete sitemap"],
    ["has an invalid address", "/b.xml", sitemap("http://["), "/b.xml lists an invalid address"],
    ["is no text", "/b.xml", html(Uint8Array.of(60, 0xff)), "its text is not valid UTF-8"],
    ["is nested", "/b.xml", html("<a>".repeat(101)), "too many levels"],
    ["is on another host", "http://127.0.0.1:9/b.xml", status(404), "leads to another host"],
  ];
  test.each(sampled(12, rows))(
    "one of which %s: the others are read, and nothing is deleted",
    async (...row) => {
      const [, child, answer, problem] = row;
      for (const name of ["x", "y", "z"]) site.set(`/${name}`, page(`Text of ${name}`));
      site.set("/sitemap.xml", index("/a.xml", "/b.xml", "/c.xml"));
      site.set("/a.xml", sitemap("/x"));
      site.set("/b.xml", sitemap("/y"));
      expect((await sync("--prune")).exit).toBe(10); // /c.xml is missing
      site.set("/c.xml", sitemap("/z"));
      site.set("/sitemap.xml", index("/a.xml", child, "/c.xml"));
      site.set("/b.xml", answer);
      site.delete("/y");
      const ran = await sync("--prune");
      expect(ran.exit, ran.err).toBe(10);
      expect(ran.out).toContain(`failed\t${address}\tincomplete: `);
      expect(ran.out).toContain(problem);
      expect(await names()).toEqual(["x.md", "y.md", "z.md"]);
    },
  );
});

describe("redirects", () => {
  /** What the site answers, the pages that it lists, and the documents with their texts. */
  const rows: readonly [string, Record<string, Answer>, string[], Record<string, string>][] = [
    ["/a → /a/", { "/a": to("/a/"), "/a/": page("A") }, ["/a", "/a/"], { "a/index.md": "A" }],
    ["/a/ → /a", { "/a/": to("/a", 302), "/a": page("A") }, ["/a", "/a/"], { "a.md": "A" }],
    [
      "/a → /a/, which is not listed",
      { "/a": to("/a/"), "/a/": page("A") },
      ["/a"],
      { "a.md": "A" },
    ],
    [
      "/b/index.html → /b/",
      { "/b/index.html": to("/b/"), "/b/": page("B") },
      ["/b/index.html", "/b/"],
      { "b/index.md": "B" },
    ],
    [
      "/c.html → /c",
      { "/c.html": to("/c", 308), "/c": page("C") },
      ["/c", "/c.html"],
      { "c.md": "C" },
    ],
    ["/D → /d", { "/D": to("/d", 307), "/d": page("D") }, ["/D", "/d"], { "d.md": "D" }],
    [
      "/E → /e → /e/",
      { "/E": to("/e"), "/e": to(`${origin}/e/#top`), "/e/": page("E") },
      ["/E", "/e", "/e/"],
      { "e/index.md": "E" },
    ],
    [
      "two addresses → one that is not listed",
      { "/f": to("/f/"), "/F": to("/f/"), "/f/": page("F") },
      ["/f", "/F"],
      { "f.md": "F" },
    ],
    [
      "a page that has moved to a listed one",
      { "/old": to("/new"), "/new": page("New") },
      ["/old", "/new"],
      { "new.md": "New" },
    ],
    [
      "no redirect",
      { "/g": page("1"), "/g/": page("2") },
      ["/g", "/g/"],
      { "g.md": "1", "g/index.md": "2" },
    ],
  ];
  test.each(sampled(9, rows))(
    "%s: one document for each page",
    async (_, answers, listed, documents) => {
      for (const [path, answer] of Object.entries(answers)) site.set(path, answer);
      site.set("/sitemap.xml", sitemap(...listed));
      const first = await sync("--prune");
      expect(first.exit, first.out + first.err).toBe(0);
      expect(await contents()).toEqual(documents);
      const second = await sync("--prune");
      expect([second.exit, actions(second.out)]).toEqual([0, []]);
    },
  );

  const kept: readonly [string, Record<string, Answer>, string][] = [
    ["to another host", { "/h": to("http://127.0.0.1:9/h") }, "redirected to http://127.0.0.1:9/h"],
    ["to a page that is not listed", { "/h": to("/login"), "/login": page("Log in") }, "/login"],
    ["for now to a listed page", { "/h": to("/i", 302) }, `redirected to ${origin}/i`],
    ["in a circle", { "/h": to("/h/"), "/h/": to("/h") }, "redirected to"],
    ["to no address", { "/h": to("http://[") }, "redirected to an invalid address"],
  ];
  test.each(sampled(3, kept))(
    "a page that leads %s is reported and kept",
    async (_, answers, problem) => {
      site.set("/h", page("H"));
      site.set("/i", page("I"));
      site.set("/sitemap.xml", sitemap("/h", "/i"));
      await sync();
      for (const [path, answer] of Object.entries(answers)) site.set(path, answer);
      for (const flags of [[], ["--prune"]]) {
        const ran = await sync(...flags);
        expect(ran.exit, ran.out).toBe(10);
        expect(ran.out).toContain(problem);
      }
      expect(await contents()).toEqual({ "h.md": "H", "i.md": "I" });
    },
  );

  test("a second document of a page is deleted once it is the same page twice", async () => {
    site.set("/a", page("A"));
    site.set("/a/", page("A"));
    site.set("/b", page("B"));
    site.set("/b2", page("B"));
    site.set("/sitemap.xml", sitemap("/a", "/a/", "/b", "/b2"));
    await sync();
    expect(await names()).toEqual(["a.md", "a/index.md", "b.md", "b2.md"]);
    site.set("/a", to("/a/"));
    site.set("/b2", to("/b"));
    const ran = await sync("--prune");
    expect(ran.out).toContain("delete\ta.md");
    expect(ran.out).toContain("failed\tb2.md\tredirected to");
    expect(ran.exit).toBe(10);
    expect(await names()).toEqual(["a/index.md", "b.md", "b2.md"]);
  });

  test("links are relative to where the page is", async () => {
    site.set("/a", to("/a/"));
    site.set("/a/", page("<a href=x>x</a>"));
    site.set("/sitemap.xml", sitemap("/a"));
    await sync();
    expect(await contents()).toEqual({ "a.md": `[x](${origin}/a/x)` });
  });

  test.each([
    ["http://a.example/x#y", "https://a.example/", "https://a.example/x"],
    ["http://a.example:80/x", "https://a.example/", "https://a.example/x"],
    ["http://a.example:81/x", "https://a.example/", "http://a.example:81/x"],
    ["http://b.example/x", "https://a.example/", "http://b.example/x"],
    ["https://a.example/x", "http://a.example/", "https://a.example/x"],
  ])("the address %s in a list of %s is %s", (given, base, url) => {
    expect(addressOf(given, base)).toBe(url);
  });
});

describe("the text of a page", () => {
  const sjis = Buffer.from("8b7889c982cd93f18f5c93fa82c582b7", "hex"); // 休暇は二十日です
  const inSjis = (head: string) => Buffer.concat([Buffer.from(head), sjis]);

  test("is read in the encoding of its bytes, its header or its start", async () => {
    site.set("/meta", html(inSjis("<meta charset=shift_jis><title>x</title><main>")));
    site.set("/header", html(inSjis("<main>"), "text/html; charset=Shift_JIS"));
    site.set("/plain.txt", html(sjis, "text/plain; charset=shift_jis"));
    site.set("/xml", html(inSjis('<?xml version="1.0" encoding="shift_jis"?>'), "text/xml"));
    site.set("/wrong", html(inSjis("<main>")));
    site.set("/sitemap.xml", sitemap("/meta", "/header", "/plain.txt", "/xml", "/wrong"));
    const ran = await sync();
    expect(ran.out).toContain("failed\twrong.md\tits text is not valid UTF-8");
    expect(ran.exit).toBe(10);
    expect(await contents()).toEqual({
      "meta.md": "# x\n\n休暇は二十日です\n",
      "header.md": "休暇は二十日です",
      "plain.txt": "休暇は二十日です",
      "xml.md": '<?xml version="1.0" encoding="shift_jis"?>休暇は二十日です',
    });
  });

  test("that is no longer valid keeps its document", async () => {
    site.set("/a", page("A"));
    site.set("/sitemap.xml", sitemap("/a"));
    await sync();
    site.set("/a", html(inSjis("<main>")));
    expect((await sync("--prune")).exit).toBe(10);
    expect(await contents()).toEqual({ "a.md": "A" });
  });
});

describe("a page beyond the limits", () => {
  const nested = (open: string, count: number, close: string) =>
    html(`<html><body>${open.repeat(count)}text${close.repeat(count)}</body></html>`);

  test("is reported and keeps its document; the others are read", async () => {
    const paths = ["/a", "/b", "/c", "/d"];
    for (const path of paths) site.set(path, page(`Text of ${path}`));
    site.set("/sitemap.xml", sitemap(...paths));
    await sync();
    site.set("/a", nested("<div>", 300, "</div>"));
    site.set("/b", nested("<ul><li>", 3000, "</li></ul>"));
    site.set("/c", nested("<table><tr><td>", 300, ""));
    site.set("/d", page("New text"));
    const ran = await sync("--prune");
    const problem = "cannot be converted: its tags are nested more than 256 deep";
    for (const name of ["a", "b", "c"]) expect(ran.out).toContain(`failed\t${name}.md\t${problem}`);
    expect(ran.exit).toBe(10);
    expect(await contents()).toEqual({
      "a.md": "Text of /a",
      "b.md": "Text of /b",
      "c.md": "Text of /c",
      "d.md": "New text",
    });
  });

  test.each(sampled(3, [50, 200]))("a page of %d levels is converted", async (levels) => {
    site.set("/a", nested("<div>", levels, "</div>"));
    site.set("/sitemap.xml", sitemap("/a"));
    expect((await sync()).exit).toBe(0);
    expect(await contents()).toEqual({ "a.md": "text" });
  });

  test("Ctrl-C ends a sync while a page is converted", async () => {
    const deep = `${"<div>".repeat(250)}text${"</div>".repeat(250)}`;
    const stop = new AbortController();
    site.set("/sitemap.xml", sitemap("/a"));
    site.set("/a", (response) => {
      html(`<html><body>${deep.repeat(2000)}</body></html>`)(response, response.req);
      void once(response, "close").then(() => setImmediate(() => stop.abort()));
    });
    const line = ["kb", "sync", kb, address, "--yes"];
    const ran = await server.cli(line, { folder: home, around, signal: stop.signal });
    expect(ran.exit, ran.err).toBe(130);
    expect(await contents()).toEqual({});
  });
});

const delays: readonly [string, string][] = [
  ["Crawl-delay: 99999999", "waiting 60 s of the 99999999 s that 127.0.0.1 asks for between"],
  ["Crawl-delay: 7", "waiting 7 s that 127.0.0.1 asks for between requests"],
];
test.each(sampled(3, delays))("says once that robots.txt has %s", async (rule, notice) => {
  site.set("/robots.txt", (response) => void response.end(`User-agent: *\n${rule}\n`));
  for (const path of ["/a", "/b"]) site.set(path, page(path));
  site.set("/sitemap.xml", sitemap("/a", "/b"));
  const ran = await sync();
  expect(ran.exit).toBe(0);
  expect(ran.err.split(notice)).toHaveLength(2);
});

const retries: readonly [string, string][] = [
  ["20", "waiting 20 s that 127.0.0.1 asks for before it is asked again"],
  ["999999999", "waiting 60 s of the 999999999 s that 127.0.0.1 asks for before"],
];
test.each(sampled(3, retries))("says that Retry-After is %s", async (seconds, notice) => {
  let count = 0;
  site.set("/a", (response, request) =>
    (count++ === 0 ? status(503, { "retry-after": seconds }) : page("A"))(response, request),
  );
  site.set("/sitemap.xml", sitemap("/a"));
  const ran = await sync();
  expect(ran.exit).toBe(0);
  expect(ran.err).toContain(notice);
});

test("a path after # that is not UTF-8 is a wrong call", async () => {
  const ran = await server.cli(["kb", "sync", kb, `${address}#%zz`], { folder: home });
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("what follows # is not a path in UTF-8");
});
