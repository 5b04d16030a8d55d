import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listening } from "./listening.ts";

/** What a site does with a request. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A site that answers by path, with 404 for every other one; `asked` are the requests so far. */
export async function testSite() {
  const answers = new Map<string, Answer>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { url = "", headers } = request;
    asked.push(url + (headers["if-none-match"] ? " if-none-match" : ""));
    const answer = answers.get(url);
    if (answer) answer(response, request);
    else response.writeHead(404).end("not here");
  });
  const { origin } = new URL(await listening(server));
  /** A sitemap with these paths and addresses. */
  const sitemap =
    (...paths: readonly string[]): Answer =>
    (response) => {
      const urls = paths.map(
        (path) => `<url><loc>${path.startsWith("http") ? path : origin + path}</loc></url>`,
      );
      response.end(
        `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join("\n")}</urlset>`,
      );
    };
  return { origin, answers, asked, sitemap };
}

/** Answers with a status. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end("<html>error</html>");
