import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import type { RawHost } from "../../../src/host/host.ts";
import { actions } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { status, testSite } from "../../lib/site.ts";
import type { Answer } from "../../lib/site.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { syncedBases, textsOf } from "../../lib/synced-base.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";

const { origin, answers: site, asked, sitemap } = await testSite();

/** A page with an ETag. */
const page =
  (text: string): Answer =>
  (response, { headers }) => {
    const etag = `"${text.length}-${text.slice(0, 9).trim()}"`;
    if (headers["if-none-match"] === etag) return void response.writeHead(304).end();
    const html = `<!doctype html><html><head><title>${text}</title></head><body><nav>Menu</nav><main><h1>T</h1><p>${text}</p></main></body></html>`;
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", etag }).end(html);
  };
/** This answer the first time, and then what the site answers now. */
const once = (first: Answer): Answer => {
  const rest = site.get("/docs/b");
  let isFirst = true;
  return (response, request) => {
    const answer = isFirst ? first : rest;
    isFirst = false;
    answer?.(response, request);
  };
};
const address = `web+${origin}/sitemap.xml`;
/** Long delays end at once. */
const around = (host: RawHost): RawHost => ({
  ...host,
  sleep: (ms, signal) => host.sleep(ms < 60_000 ? ms : 0, signal),
});
const run = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: home, around });
const sync = (...flags: readonly string[]) => run("sync", kb, address, "--yes", ...flags);
const contents = () => textsOf(server, kb);
const names = async () => Object.keys(await contents()).sort();

beforeEach(async () => {
  ({ kb } = await newBase());
  site.clear();
  for (const name of ["a", "b", "c"]) site.set(`/docs/${name}`, page(`Text of ${name}`));
  site.set("/sitemap.xml", sitemap("/docs/a", "/docs/b", "/docs/c"));
  asked.length = 0;
});

describe("a site", () => {
  test("gives the main text of its pages as Markdown; unchanged pages send no text", async () => {
    const first = await sync();
    expect(first.exit, first.err).toBe(0);
    expect(await contents()).toEqual({
      "docs/a.md": "# T\n\nText of a",
      "docs/b.md": "# T\n\nText of b",
      "docs/c.md": "# T\n\nText of c",
    });
    const query =
      '.[] | select(.name == "docs/a.md").doc_metadata | map(select(.id != "built-in") | {(.name): .value}) | add | [.url, .title]';
    const values = await run("doc", "list", kb, "--jq", query, "-o", "json");
    expect(JSON.parse(values.out)).toEqual([`${origin}/docs/a`, "Text of a"]);
    asked.length = 0;
    site.set("/docs/b", page("Another text"));
    const second = await sync("--prune");
    expect(actions(second.out)).toEqual(["update docs/b.md"]);
    expect(asked.sort()).toEqual([
      "/docs/a if-none-match",
      "/docs/b if-none-match",
      "/docs/c if-none-match",
      "/robots.txt",
      "/sitemap.xml",
    ]);
  });

  test("deletes a page that is not listed and gone, after a second look", async () => {
    await sync();
    site.set("/sitemap.xml", sitemap("/docs/a", "/docs/b"));
    site.set("/docs/c", status(410));
    asked.length = 0;
    const ran = await sync("--prune");
    expect(actions(ran.out)).toEqual(["delete docs/c.md"]);
    expect(ran.err).toContain("checking 1 missing page again in 90 s");
    expect(asked.filter((url) => /c$|xml$/.test(url))).toEqual([
      "/sitemap.xml",
      "/docs/c",
      "/sitemap.xml",
      "/docs/c",
    ]);
    expect(await names()).toEqual(["docs/a.md", "docs/b.md"]);
  });

  const c = "/docs/c";
  const gone = () => void site.set("/sitemap.xml", sitemap("/docs/a", "/docs/b"));
  test.each<[string, () => void, string]>([
    ["is listed, but 404", () => void site.delete(c), "HTTP 404"],
    ["is listed, but 410", () => void site.set(c, status(410)), "HTTP 410"],
    ["answers 500", () => void site.set(c, status(500)), "HTTP 500"],
    ["answers 429", () => void site.set(c, status(429, { "retry-after": "2" })), "HTTP 429"],
    ["resets", () => void site.set(c, (response) => void response.socket?.destroy()), "failed"],
    [
      "redirects to another host",
      () => void site.set(c, status(302, { location: "http://127.0.0.1:1/x" })),
      "redirected",
    ],
    [
      "redirects to another page",
      () => void site.set(c, status(302, { location: "/docs/a" })),
      "redirected",
    ],
    [
      "ends too early",
      () =>
        void site.set(c, (response) => {
          response.writeHead(200, { "content-type": "text/html", "content-length": "900" });
          response.write("<html>", () => void response.socket?.destroy());
        }),
      "failed",
    ],
    [
      "ends with the connection, without its end",
      () =>
        void site.set(c, (response) => {
          response.useChunkedEncodingByDefault = false;
          response
            .writeHead(200, { "content-type": "text/html", connection: "close" })
            .end("<html><main>cut");
        }),
      "incomplete",
    ],
    [
      "has no text",
      () =>
        void site.set(
          c,
          (response) => void response.setHeader("content-type", "text/html").end("<html></html>"),
        ),
      "empty",
    ],
    ["is not listed, but answers", gone, "not gone either: HTTP 200"],
    [
      "is not listed, and fails",
      () => {
        gone();
        site.set(c, status(503));
      },
      "HTTP 503",
    ],
    [
      "is not listed, and moves",
      () => {
        gone();
        site.set(c, status(301, { location: "/docs/a" }));
      },
      "redirected",
    ],
  ])("keeps the document of a page that %s, and says so", async (_, change, message) => {
    await sync();
    change();
    const ran = await sync("--prune");
    expect(ran.exit, ran.out + ran.err).toBe(10);
    expect(ran.out).toContain("docs/c");
    expect(ran.out.toLowerCase()).toContain(message.toLowerCase());
    expect(await names()).toEqual(["docs/a.md", "docs/b.md", "docs/c.md"]);
  });

  const cut: Answer = (response) => void response.end("<urlset><url><loc>x</loc></url>");
  test.each<[string, Answer, string]>([
    ["answers 404", status(404), "HTTP 404"],
    ["answers 503", status(503), "HTTP 503"],
    ["is cut", cut, "not a complete sitemap"],
    ["is a page", page("Maintenance"), "not a complete sitemap"],
    ["redirects to another host", status(302, { location: "http://127.0.0.1:1/" }), "redirected"],
  ])("deletes nothing if the sitemap %s", async (_, answer, message) => {
    await sync();
    site.set("/sitemap.xml", answer);
    site.delete("/docs/c");
    const ran = await sync("--prune");
    expect(ran.exit).toBe(10);
    expect(ran.out).toContain(message);
    expect(await names()).toEqual(["docs/a.md", "docs/b.md", "docs/c.md"]);
  });

  test("keeps to robots.txt, to its host and to the path after #", async () => {
    site.set("/robots.txt", (response) => void response.end("User-agent: *\nDisallow: /docs/b\n"));
    const far = "http://127.0.0.1:9/docs/x";
    site.set("/sitemap.xml", sitemap("/docs/a", "/docs/b", "/blog/a", far));
    site.set("/blog/a", page("Blog"));
    const ran = await run("sync", kb, `${address}#/docs/`, "--exclude", "127.0.0.1:9");
    expect(ran.exit, ran.err).toBe(0);
    expect(await names()).toEqual(["docs/a.md"]);
    expect(asked).toEqual(["/sitemap.xml", "/robots.txt", "/docs/a"]);
  });

  test("names pages that a sitemap lists on other hosts, and takes the others", async () => {
    const elsewhere = ["https://www.docs.example/docs/x", "https://www.docs.example/docs/y"];
    const secure = `${origin.replace("http:", "https:")}/docs/z`;
    site.set(
      "/sitemap.xml",
      sitemap("/docs/a", ...elsewhere, secure, "http://other.example/blog/"),
    );
    const ran = await run("sync", kb, `${address}#/docs/`, "--prune");
    expect(ran.exit, ran.err).toBe(10);
    expect(actions(ran.out)).toEqual([
      "create docs/a.md",
      `failed ${new URL(origin).host}`,
      "failed www.docs.example",
    ]);
    expect(ran.out).toContain(`the site: 2 pages skipped, such as ${elsewhere[0]}`);
    expect(ran.out).toContain(`the site: 1 page skipped, such as ${secure}`);
    const excluded = ["--exclude", "www.docs.example", "--exclude", "127.0.0.1:*"];
    const line = ["sync", kb, `${address}#/docs/`, "--prune"];
    expect((await run(...line, ...excluded)).exit).toBe(0);
    site.set("/sitemap.xml", sitemap(...elsewhere));
    expect((await run(...line)).exit).toBe(2);
    expect(await names()).toEqual(["docs/a.md"]);
  });

  test("--show prints the Markdown of a page: headings, lists, tables, code and links", async () => {
    const html = `<html><head><title>Pay – Docs</title></head><body><header>Logo</header><main>
      <h1>Pay</h1><nav>On this page</nav><p>See <a href="leave?x=1#top">leave</a> &amp; <b>more</b>.</p>
      <h2>Steps</h2><ol><li>One<ul><li>inner</li></ul></li><li>Two</li></ol>
      <table><thead><tr><th>Grade</th><th>Sum</th></tr></thead><tbody><tr><td>A|B</td><td>1<br>2</td></tr></tbody></table>
      <pre><code class="language-js">const a = "&lt;b>";\n  b();</code></pre><pre>plain  text</pre><p>Use <code>kb</code>.</p>
      <script>alert(1)</script></main><footer>Imprint</footer></body></html>`;
    site.set(
      "/docs/c",
      (response) => void response.setHeader("content-type", "text/html").end(html),
    );
    const shown = await sync("--dry-run", "--show", "docs/c.md");
    expect(shown.exit, shown.err).toBe(0);
    expect(shown.out).toBe(`# Pay

See [leave](${origin}/docs/leave?x=1#top) & **more**.

## Steps

1.  One
    -   inner
2.  Two

| Grade | Sum |
| --- | --- |
| A\\|B | 1 2 |

\`\`\`js
const a = "<b>";
  b();
\`\`\`

\`\`\`
plain  text
\`\`\`

Use \`kb\`.
`);
    expect((await sync("--show", "docs/c.md")).exit).toBe(2);
    expect((await sync("--dry-run", "--show", "docs/x.md")).exit).toBe(3);
    expect(await contents()).toEqual({});
  });

  test("reads compressed sitemaps, and deletes nothing if one is damaged", async () => {
    const packed = (text: string) => gzipSync(text);
    const urls = ["a", "b"].map((name) => `<url><loc>${origin}/docs/${name}</loc></url>`);
    const whole = packed(`<urlset>${urls.join("")}</urlset>`);
    const zipped = `web+${origin}/sitemap.xml.gz`;
    site.set("/sitemap.xml.gz", (response) => void response.end(whole));
    expect((await run("sync", kb, zipped)).exit).toBe(0);
    expect(await names()).toEqual(["docs/a.md", "docs/b.md"]);
    site.delete("/docs/b");
    site.set("/sitemap.xml.gz", (response) => void response.end(whole.subarray(0, -9)));
    const damaged = await run("sync", kb, zipped, "--prune", "--yes");
    expect(damaged.exit).toBe(10);
    expect(damaged.out).toContain("not a complete sitemap");
    expect(await names()).toEqual(["docs/a.md", "docs/b.md"]);
  });

  test.each([
    [
      "Retry-After",
      () => void site.set("/docs/b", once(status(429, { "retry-after": "7" }))),
      7000,
    ],
    ["no such header", () => void site.set("/docs/b", once(status(503))), 1000],
    [
      "Crawl-delay",
      () =>
        void site.set(
          "/robots.txt",
          (response) => void response.end("User-agent: *\nCrawl-delay: 4\n"),
        ),
      4000,
    ],
  ])("waits as %s says", async (_, change, ms) => {
    change();
    const waits: number[] = [];
    const elapsed = () => waits.reduce((sum, each) => sum + each, 0);
    const ran = await server.cli(["kb", "sync", kb, address, "--no-wait"], {
      folder: home,
      waits,
      elapsed,
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(waits).toContain(ms);
    expect(await names()).toEqual(["docs/a.md", "docs/b.md", "docs/c.md"]);
  });

  test("sends its authorization to the site, and shows it nowhere", async () => {
    const secret = "Basic c2VjcmV0LXRva2Vu";
    const guarded: Answer = (response, request) =>
      request.headers.authorization === secret
        ? page("Inside")(response, request)
        : status(401)(response, request);
    for (const name of ["a", "b", "c"]) site.set(`/docs/${name}`, guarded);
    const path = join(home, `site-${kb}.yaml`);
    const entry = { kb, source: address, authorization: { variable: "SITE_LOGIN" } };
    await writeFile(path, JSON.stringify({ sources: { site: entry } })); // JSON is YAML
    const env = { SITE_LOGIN: secret };
    const line = ["kb", "sync", "--config", path, "-vvv"];
    const ran = await server.cli(line, { folder: home, around, env });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out + ran.err).not.toContain("c2VjcmV0LXRva2Vu");
    expect((await contents())["docs/a.md"]).toBe("# T\n\nInside");
  });

  test("Ctrl-C during the second look deletes nothing, and the next sync continues", async () => {
    await sync();
    site.set("/sitemap.xml", sitemap("/docs/a", "/docs/b"));
    site.delete("/docs/c");
    site.set("/docs/b", page("New text"));
    const stop = new AbortController();
    const interrupted = await server.cli(["kb", "sync", kb, address, "--prune", "--yes"], {
      folder: home,
      signal: stop.signal,
      around: (host) => ({
        ...host,
        sleep: (ms, signal) => {
          if (ms === 90_000) stop.abort();
          return host.sleep(ms, signal);
        },
      }),
    });
    expect(interrupted.exit).toBe(130);
    expect(interrupted.err).toContain("checking 1 missing page again in 90 s");
    expect(await names()).toEqual(["docs/a.md", "docs/b.md", "docs/c.md"]);
    expect(actions((await sync("--prune")).out)).toEqual(["delete docs/c.md", "update docs/b.md"]);
  });

  test("reads an index of sitemaps, and a start page with its links", async () => {
    const index = `<sitemapindex><sitemap><loc>${origin}/one.xml</loc></sitemap></sitemapindex>`;
    site.set("/sitemap.xml", (response) => void response.end(index));
    site.set("/one.xml", sitemap("/docs/a"));
    await sync();
    expect(await names()).toEqual(["docs/a.md"]);
    const { kb: other } = await newBase();
    const links =
      "<html><main><p>Start <a href=a>a</a> <a href='/docs/b#x'>b</a> <a href=/blog>c</a></p></main></html>";
    site.set(
      "/docs/",
      (response) => void response.setHeader("content-type", "text/html").end(links),
    );
    await run("sync", other, `web+${origin}/docs/`);
    expect(Object.keys(await textsOf(server, other)).sort()).toEqual([
      "docs/a.md",
      "docs/b.md",
      "docs/index.md",
    ]);
  });

  test.each([
    ["web+http://example.com/sitemap.xml", "web+http for this machine"],
    ["web+https://example.com/sitemap.xml#docs", "what follows # is a path"],
    ["web+ftp://example.com/", "invalid site"],
  ])("%s is a wrong call", async (wrong, message) => {
    const ran = await run("sync", kb, wrong);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
  });
});
