import { deepEqual, equal, ok } from "node:assert/strict";
import { sha256 } from "../../../src/lib/sha256.ts";
import { createKb, documentsOf } from "../knowledge.ts";
import type { Machine } from "../machine.ts";
import type { Scenario } from "../simulate.ts";
import { deadMaps, locOf, mapOf, SITE_ORIGIN } from "../site.ts";
import type { SimulatedSite, SiteAnswer } from "../site.ts";
import type { World } from "../world.ts";

/** Codes with which a sync may end. */
const honest = [0, 1, 5, 7, 10, 11, 12, 130];
/** Longest deploy in ms, and ms for which a cache may answer for pages that are missing no longer. */
const DEPLOY_MS = 60_000;
const CACHED_MS = 120_000;
/** A page that is listed, and that robots.txt forbids. */
const FORBIDDEN = "/private/page";

/** A page of the site. */
interface SitePage {
  text: string;
  /** All texts that it had. */
  readonly texts: string[];
  /** Does it exist? It may be missing for the time of a deploy all the same. */
  exists: boolean;
  listed: boolean;
}

/** What the scenario works with. */
interface Stage {
  readonly world: World;
  readonly kb: string;
  readonly machine: Machine;
  readonly pages: Map<string, SitePage>;
  /** The sitemaps that list the pages: the only one, or those of an index. */
  readonly maps: readonly string[];
  /** A sitemap that is dead for a turn, and how it answers. */
  dead: { readonly path: string; readonly kind: keyof typeof deadMaps } | undefined;
  /** A deploy: until when the list lacks pages and these are missing, and how the site answers for them. */
  deploy: {
    readonly listUntil: number;
    readonly pagesUntil: number;
    readonly missing: ReadonlySet<string>;
    readonly status: number;
  };
}

const documentPath = (path: string) => `${path.slice(1)}.md`;
const markdownOf = (text: string) => `# Page\n\n${text}`;

function siteOf(stage: Stage): SimulatedSite {
  const { world, pages, maps } = stage;
  const isMissing = (path: string, until: number) =>
    world.timeline.time < until && stage.deploy.missing.has(path);
  const pageOf = (text: string) =>
    `<html><body><main><h1>Page</h1><p>${text}</p></main></body></html>`;
  return {
    faultRate: world.pick([0, 0.001, 0.005, 0.02], "rate of faults of the site"),
    answer(path, headers): SiteAnswer {
      const { listUntil, pagesUntil, status } = stage.deploy;
      if (path === "/maintenance") return html(pageOf("We are back soon"));
      if (path === "/robots.txt")
        return status === 503 && world.timeline.time < listUntil
          ? { status }
          : { status: 200, body: `User-agent: *\nDisallow: ${FORBIDDEN}\n` };
      if (path === FORBIDDEN) world.server.problems.push(new Error(`${path} was requested`));
      const dead = stage.dead?.path === path ? deadMaps[stage.dead.kind] : undefined;
      if (dead) return dead;
      if (maps.includes(path)) {
        const listed = [...pages].filter(
          ([each, page], at) =>
            maps[at % maps.length] === path &&
            page.exists &&
            page.listed &&
            !isMissing(each, listUntil),
        );
        const urls = [...listed.map(([each]) => each), FORBIDDEN].map(
          (each) => `<url>${locOf(each)}</url>`,
        );
        return mapOf(`<urlset>${urls.join("")}</urlset>`);
      }
      if (path === "/sitemap.xml") {
        const all = maps.map((each) => `<sitemap>${locOf(each)}</sitemap>`);
        return mapOf(`<sitemapindex>${all.join("")}</sitemapindex>`);
      }
      const page = pages.get(path);
      if (!page?.exists) return { status: 404 };
      // Two looks at a page that nothing lists are 90 s apart: a longer absence is that of a page that is gone.
      if (isMissing(path, page.listed ? pagesUntil : listUntil))
        return { status, body: "gone for a minute" };
      if (!page.listed && world.random(`${path} is broken`) < 0.5) return { status: 503 };
      const etag = `"${sha256(page.text).slice(0, 16)}"`;
      if (headers["if-none-match"] === etag) return { status: 304 };
      return html(pageOf(page.text), { etag });
    },
  };
}

const html = (body: string, headers: Readonly<Record<string, string>> = {}): SiteAnswer => ({
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8", ...headers },
  body,
});

/** Changes, adds, removes and hides pages; each change can be dropped. */
function edit({ world, pages }: Stage, turn: number): void {
  for (const [path, page] of pages) {
    const place = `${path} ${turn}`;
    if (!page.exists) continue;
    if (world.happens("remove a page", place, 0.03)) page.exists = false;
    else if (world.happens("hide a page", place, 0.03)) page.listed = false;
    else if (world.happens("edit a page", place, 0.1)) {
      page.text = `text ${world.below(1e9, `text of ${place}`)} of ${path}`;
      page.texts.push(page.text);
    }
  }
  const text = `new text of ${turn}`;
  pages.set(`/added-${turn}`, { text, texts: [text], exists: true, listed: true });
}

/** Starts a deploy while a sync runs: some pages are missing for up to a minute. */
async function deploy(stage: Stage, turn: number): Promise<void> {
  const { world, pages } = stage;
  if (!world.happens("deploy", `${turn}`, 0.6)) return;
  await world.pause(world.random(`deploy of ${turn}`) * 3000);
  const share = world.pick([0.05, 0.5, 1], `share of the deploy of ${turn}`);
  const missing = [...pages.keys()].filter((path) => world.random(`${path} in ${turn}`) < share);
  const listUntil = world.timeline.time + world.random(`end of the deploy of ${turn}`) * DEPLOY_MS;
  const pagesUntil = listUntil + (world.happens("cached", `${turn}`, 0.3) ? CACHED_MS : 0);
  const status = world.pick([404, 410, 503], `status of the deploy of ${turn}`);
  stage.deploy = { listUntil, pagesUntil, missing: new Set(missing), status };
}

/**
 * May there be documents without marks? Only if the disk had no room for the journal, and a sync did not get to
 * mark what it had made. Such a document is a conflict once its page has another text.
 */
const mayBeUnknown = ({ faults }: World): boolean =>
  faults.happened.some((fault) => fault.startsWith("full disk"));

const start = ({ kb, machine, world }: Stage, name: string, more: readonly string[] = []) => {
  const line = [
    "kb",
    "sync",
    kb,
    `web+${SITE_ORIGIN}/sitemap.xml`,
    "--prune",
    "--yes",
    "-o",
    "jsonl",
  ];
  return world.start([...line, ...more], { name, machine, env: { KB_KEY: "dataset-sandbox" } });
};

/** No document of a page that exists, or of any page, is deleted, and each has a text that its page has or had. */
async function requireKept(
  stage: Stage,
  before: ReadonlyMap<unknown, string>,
  isAny: boolean,
): Promise<void> {
  const documents = await documentsOf(stage.world.server, stage.kb);
  const ids = new Set(documents.map(({ id }) => id));
  for (const [path, { exists }] of stage.pages) {
    const id = before.get(documentPath(path));
    ok(
      !(exists || isAny) || id === undefined || ids.has(id),
      `the document of ${path}, which ${exists ? "exists" : "may exist"}, was deleted`,
    );
  }
  const texts = new Map([...stage.pages].map(([path, { texts }]) => [documentPath(path), texts]));
  for (const { name, text } of documents)
    ok(
      texts.get(name)?.some((each) => markdownOf(each) === text),
      `${name} has the text ${text}`,
    );
}

/** Syncs once more without faults; takes conflicts over if there may be some. Returns exit code and errors. */
async function syncInCalm(stage: Stage) {
  const first = await start(stage, "undisturbed sync").ended;
  const isConflict = first.out.includes('{"action":"conflict"');
  if (!isConflict || !mayBeUnknown(stage.world)) return first;
  return start(stage, "undisturbed sync with --adopt", ["--adopt"]).ended;
}

const playSite =
  (sizes: readonly number[]) =>
  async (world: World): Promise<void> => {
    const machine = world.machine();
    const kb = await createKb(world.server, "Site");
    const pages = new Map<string, SitePage>();
    const count = world.pick(sizes, "number of pages");
    for (let page = 0; page < count; page++) {
      const text = `text of page ${page}`;
      pages.set(`/docs/page-${page}`, { text, texts: [text], exists: true, listed: true });
    }
    // Two pages whose paths differ in case alone.
    if (world.random("twins") < 0.5) {
      const text = "text of the twin of page 1";
      pages.set("/docs/Page-1", { text, texts: [text], exists: true, listed: true });
    }
    const stage: Stage = {
      world,
      kb,
      machine,
      pages,
      maps: world.random("index") < 0.5 ? ["/map-0.xml", "/map-1.xml"] : ["/sitemap.xml"],
      dead: undefined,
      deploy: { listUntil: 0, pagesUntil: 0, missing: new Set(), status: 404 },
    };
    world.site = siteOf(stage);
    const turns = 1 + world.below(4, "turns");
    for (let turn = 0; turn < turns; turn++) {
      if (turn > 0) edit(stage, turn);
      const documents = await documentsOf(world.server, kb);
      const before = new Map(documents.map(({ id, fields }) => [fields["kb_path"], id]));
      if (world.happens("dead map", `${turn}`, 0.3))
        stage.dead = {
          path: world.pick(["/sitemap.xml", ...stage.maps], `dead map of ${turn}`),
          kind: world.pick(Object.keys(deadMaps), `dead map of ${turn} is`),
        };
      const process = start(stage, `sync ${turn}`);
      await deploy(stage, turn);
      const { exit, out, err } = await process.ended;
      // What is not known to be whole deletes nothing.
      const isUnsure = stage.dead !== undefined && stage.dead.kind !== "of nothing";
      const isTold = exit !== 0 && (exit !== 10 || out.includes('"incomplete: '));
      ok(!isUnsure || isTold, `a sitemap is ${stage.dead?.kind}, which is not told: ${out}`);
      stage.dead = undefined;
      // A deploy may leave nothing on the list; then nothing is deleted.
      const isRefused = exit === 2 && err.includes("refusing to --prune everything");
      ok(exit === null || isRefused || honest.includes(exit), `exit code ${exit}: ${err}`);
      await requireKept(stage, before, isUnsure);
    }
    world.calm();
    await world.pause(DEPLOY_MS + CACHED_MS);
    const { exit, err } = await syncInCalm(stage);
    const documents = await documentsOf(world.server, kb);
    const isOrphan = ({ fields }: (typeof documents)[number]) =>
      mayBeUnknown(world) && fields["kb_path"] === undefined;
    // A page that exists and is not listed is reported, if a document is known to be its own.
    const hiddenPages = [...pages].filter(([, { exists, listed }]) => exists && !listed);
    const hiddenNames = new Set(hiddenPages.map(([path]) => documentPath(path)));
    const hidden = documents.filter(({ name }) => hiddenNames.has(name));
    if (hidden.length === 0) equal(exit, 0, err);
    else if (hidden.every(isOrphan)) ok(exit === 0 || exit === 10, err);
    else equal(exit, 10, err);
    const expected = [...pages]
      .filter(([, { exists, listed }]) => exists && listed)
      .map(([path, { text }]) => [documentPath(path), markdownOf(text)]);
    deepEqual(
      documents
        .filter((document) => !hiddenNames.has(document.name) && !isOrphan(document))
        .map(({ name, text }) => [name, text])
        .sort(),
      expected.sort(),
      "the base differs from the site",
    );
  };

/** Most sites are small, so that many seeds can be played. */
const siteSizes = [8, 8, 8, 20, 20, 20, 40, 40, 60, 150];

/** Syncs of a site whose pages fail, vanish for the time of a deploy, or go. */
export const site: Scenario = {
  name: "site",
  play: playSite(siteSizes),
  guards: [
    {
      name: "a dead sitemap of an index is passed over",
      file: "src/commands/kb/sources/site.ts",
      from: "if (problem !== undefined) problems.push(problem);",
      to: "",
    },
    {
      name: "pages whose paths differ in case alone are one",
      file: "src/commands/kb/sources/page-list.ts",
      from: 'const path = [...steps.filter((step) => step !== ""), name].join("/");',
      to: 'const path = [...steps.filter((step) => step !== ""), name].join("/").toLowerCase();',
    },
    {
      name: "a page is deleted after one look",
      file: "src/commands/kb/sources/site.ts",
      from: "for (const isFirst of [true, false]) {",
      to: "for (const isFirst of [true]) {",
    },
    {
      name: "every failure of an unlisted page counts as gone",
      file: "src/commands/kb/sources/site.ts",
      from: "if (status === 404 || status === 410) continue;",
      to: "if (status !== 200) continue;",
    },
    {
      name: "an incomplete list deletes",
      file: "src/commands/kb/sync/plan.ts",
      from: "const mayExist = problem === undefined ? isLeft : () => true;",
      to: "const mayExist = isLeft;",
    },
    {
      name: "the text of an error page becomes the document",
      file: "src/commands/kb/sources/site.ts",
      from: "if (status !== 200) throw sourceError(`${url}: HTTP ${status}`);\n  // Such",
      to: "// Such",
    },
    {
      name: "a redirect to another page is followed",
      file: "src/commands/kb/sources/fetcher.ts",
      from: "redirects < MAX_REDIRECTS && follow(target.href)",
      to: "redirects < MAX_REDIRECTS",
    },
    {
      name: "a redirect to another host is followed",
      file: "src/commands/kb/sources/fetcher.ts",
      from: "target.origin === origin && redirects",
      to: "redirects",
    },
    {
      name: "a page that is listed again is deleted because it answers 404",
      file: "src/commands/kb/sources/site.ts",
      from: 'if (urls.some((each) => pages?.has(each) && !known.isAlias(each))) return "listed again";',
      to: "",
    },
    {
      name: "a page that was cut becomes the document",
      file: "src/commands/kb/sources/site.ts",
      from: "throw sourceError(`${url}: incomplete`);",
      to: "return response;",
    },
    {
      name: "a failing robots.txt forbids nothing",
      file: "src/commands/kb/sources/site.ts",
      from: "if (status !== 200) throw sourceError(`${url}: HTTP ${status}`);\n  const robots",
      to: "const robots",
    },
  ],
};

/** The same with 1,000 pages in each seed. */
export const largeSite: Scenario = {
  name: "large-site",
  isLong: true,
  play: playSite([1000]),
  guards: [],
};
