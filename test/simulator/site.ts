import type { Dispatcher } from "undici";
import type { World } from "./world.ts";

/** Where the simulated site is. */
export const SITE_ORIGIN = "http://127.0.0.1:9090";

/** What a site answers at the moment. */
export interface SiteAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A site: what it answers to a request for a path. */
export interface SimulatedSite {
  answer(path: string, headers: Readonly<Record<string, string>>): SiteAnswer;
  /** How often a fault happens at a request. */
  readonly faultRate: number;
}

/** A sitemap with this text. */
export const mapOf = (body: string): SiteAnswer => ({ status: 200, body });
export const locOf = (path: string): string => `<loc>${SITE_ORIGIN}${path}</loc>`;

/** How a dead sitemap answers. One that lists nothing looks whole. */
export const deadMaps: Readonly<Record<string, SiteAnswer>> = {
  missing: { status: 404 },
  failing: { status: 500 },
  empty: mapOf(""),
  cut: mapOf(`<urlset><url>${locOf("/docs/page-1")}</url><url><loc>${SITE_ORIGIN}`),
  "a page": mapOf("<html><body>Not found</body></html>"),
  "of nothing": mapOf("<urlset></urlset>"),
};

/** ms that a request to the site is under way at most. */
const LATENCY_MS = 40;

const failed = (code: string) => Object.assign(new Error(code), { code });

/** Faults of a site that answer in place of a page. */
const html = { "content-type": "text/html" };
const answers: Readonly<Record<string, SiteAnswer>> = {
  "429": { status: 429, headers: { "retry-after": "3" } },
  "500": { status: 500, headers: html, body: "<html><main>Server error</main></html>" },
  "503": { status: 503, headers: html, body: "<html><main>Maintenance</main></html>" },
  away: { status: 302, headers: { location: "https://login.example/" } },
  moved: { status: 302, headers: { location: "/maintenance" } },
};

/** The response of the site of a world, with what may go wrong on the way. */
export async function siteResponse(
  { origin, path, headers, signal }: Dispatcher.RequestOptions,
  world: World,
  step: (name: string, ms: number) => Promise<string>,
): Promise<Dispatcher.ResponseData> {
  const { site, timeline } = world;
  if (String(origin) !== SITE_ORIGIN) world.server.problems.push(new Error(`asked ${origin}`));
  if (!site || String(origin) !== SITE_ORIGIN) throw failed("ECONNREFUSED");
  const place = await step(`GET ${path}`, LATENCY_MS);
  const strikes = (kind: string) => world.happens(`site ${kind}`, place, site.faultRate);
  if (strikes("silence")) {
    await timeline.wait(30_000, signal as AbortSignal);
    throw failed("UND_ERR_HEADERS_TIMEOUT");
  }
  if (strikes("reset")) throw failed("ECONNRESET");
  // What robots.txt leads to are its rules, and rules have no end that could be missing.
  const isPlain = path === "/robots.txt";
  const fault = Object.keys(answers).find(
    (kind) => path !== "/maintenance" && !(isPlain && kind === "moved") && strikes(kind),
  );
  const given = (fault && answers[fault]) || site.answer(path, headers as Record<string, string>);
  const body = new TextEncoder().encode(given.body ?? "");
  const isCut = body.length > 1 && strikes("cut");
  // Without a length, the end of the connection is that of the body.
  const isShort = body.length > 1 && !isPlain && strikes("short");
  const date = new Date(timeline.time).toUTCString();
  return {
    statusCode: given.status,
    headers: { date, ...(!isShort && { "content-length": String(body.length) }), ...given.headers },
    body: (async function* () {
      yield body.subarray(0, isCut || isShort ? body.length / 2 : body.length);
      if (isCut) throw failed("UND_ERR_SOCKET");
    })(),
  } as unknown as Dispatcher.ResponseData; // all that the client uses
}
