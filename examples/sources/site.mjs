#!/usr/bin/env node
// Serves the files of a directory as a site with a sitemap, and prints its address.
//
//     node site.mjs DIRECTORY
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, sep } from "node:path";

const [directory = "."] = process.argv.slice(2);

/** The files by the paths of their addresses. */
function files() {
  const paths = readdirSync(directory, { recursive: true });
  const found = paths.filter((path) => statSync(join(directory, path)).isFile());
  return new Map(found.map((path) => [encodeURI(`/${path.split(sep).join("/")}`), path]));
}

const server = createServer((request, response) => {
  const origin = `http://${request.headers.host}`;
  if (request.url === "/sitemap.xml") {
    const pages = [...files().keys()].map((path) => `<url><loc>${origin}${path}</loc></url>`);
    response.setHeader("content-type", "application/xml");
    response.end(`<urlset>${pages.join("")}</urlset>`);
    return;
  }
  const path = files().get(request.url);
  if (path === undefined) {
    response.writeHead(404).end();
    return;
  }
  const content = readFileSync(join(directory, path));
  const etag = `"${createHash("sha256").update(content).digest("hex").slice(0, 16)}"`;
  response.setHeader("etag", etag);
  if (request.headers["if-none-match"] === etag) {
    response.writeHead(304).end();
    return;
  }
  response.setHeader("content-type", "text/markdown; charset=utf-8");
  response.end(content);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
