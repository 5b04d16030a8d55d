// Syncing 10,000 unchanged objects of each kind of source: requests, contents that are read, seconds.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { base, servingDocuments } from "./knowledge-server.mjs";
import { clean, folder, kb, measured, result } from "./tools.mjs";

const count = 10_000;
/** Time of the last change of all files, in s. */
const CHANGED = 1_790_000_000;
const state = { KB_STATE_DIR: join(folder, "state"), KB_CACHE_DIR: join(folder, "c") };

/** A file that counts lines that others append. */
function counter(name) {
  const path = join(folder, name);
  const take = () => {
    const lines = readFileSync(path, "utf8").split("\n").length - 1;
    writeFileSync(path, "");
    return lines;
  };
  writeFileSync(path, "");
  return { path, take };
}

/** Returns the stdout of a program, which must succeed. */
function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** A program that prints a list that is ready, and counts what it is asked for. */
function program(directory, paths) {
  const asked = counter("asked");
  const list = join(folder, "list.jsonl");
  const lines = paths.map((path) => ({ path, fingerprint: "1", size: 840 }));
  for (const line of [...lines, { end: true, complete: true }])
    appendFileSync(list, `${JSON.stringify(line)}\n`);
  const source = join(folder, "source.sh");
  writeFileSync(
    source,
    `echo $1 >> '${asked.path}'\ncase $1 in list) cat '${list}';; get) cat '${directory}'/"$2";; esac\n`,
  );
  return { address: `exec:sh ${source}`, take: () => ({ requests: asked.take() }) };
}

/** A repository whose git counts its own processes. */
function repository(directory) {
  const asked = counter("git");
  const place = join(folder, "bin");
  mkdirSync(place);
  const git = run("sh", ["-c", "command -v git"]).trim();
  writeFileSync(
    join(place, "git"),
    `#!/bin/sh\necho "$*" >> '${asked.path}'\nexec '${git}' "$@"\n`,
    { mode: 0o755 },
  );
  const made = join(folder, "repository");
  run("git", ["init", "-q", "-b", "main", made]);
  run("cp", ["-r", directory, join(made, "docs")]);
  run("git", ["-C", made, "add", "."]);
  const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
  run("git", [...author, "-C", made, "commit", "-qm", "pages"]);
  return {
    address: `git+file://${made}#main:docs`,
    env: { PATH: `${place}:${process.env.PATH}` },
    take: () => ({ requests: asked.take() }),
  };
}

/** A site with a sitemap; each page has an ETag. */
async function site(directory, paths) {
  const counts = { requests: 0, bodies: 0 };
  const server = createServer(({ url, headers }, response) => {
    counts.requests++;
    const { port } = server.address();
    if (url === "/robots.txt") return response.writeHead(404).end();
    if (url === "/sitemap.xml") {
      const urls = paths.map((path) => `<url><loc>http://127.0.0.1:${port}/${path}</loc></url>`);
      return response.end(`<urlset>${urls.join("\n")}</urlset>`);
    }
    const etag = `"${createHash("sha256").update(url).digest("hex").slice(0, 16)}"`;
    if (headers["if-none-match"] === etag) return response.writeHead(304, { etag }).end();
    counts.bodies++;
    response.writeHead(200, { etag, "content-type": "text/markdown; charset=utf-8" });
    return response.end(readFileSync(join(directory, url)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `web+http://127.0.0.1:${server.address().port}/sitemap.xml`,
    take() {
      const { requests, bodies } = counts;
      Object.assign(counts, { requests: 0, bodies: 0 });
      return { requests, bodies };
    },
    stop: () => server.close(),
  };
}

/** A directory as a remote of rclone; undefined without rclone. */
function remote(directory, paths) {
  if (spawnSync("rclone", ["version"]).status !== 0) return undefined;
  return {
    address: `rclone:l:${directory}`,
    env: { RCLONE_CONFIG_L_TYPE: "local" },
    // Other contents that the list does not show: reading one of them would be a write.
    take() {
      for (const path of paths) {
        const file = join(directory, path);
        writeFileSync(file, readFileSync(file, "utf8").replaceAll("Page", "Side"));
        utimesSync(file, CHANGED, CHANGED);
      }
    },
  };
}

/** Measures the second sync of a source whose objects are those of the first one. */
async function unchanged(name, { address, env: more, take, stop }) {
  const server = await servingDocuments();
  const target = { KB_BASE_URL: `${server.origin}/v1`, KB_KEY: "dataset-bench" };
  const env = { ...clean, ...state, ...target, ...more };
  const line = [kb, "sync", base, address, "-q", "--prune"];
  await measured(line, env);
  await server.counted();
  take?.();
  const { seconds, megabytes } = await measured(line, env);
  const { lists, zips, writes, other, busy } = await server.counted();
  const { requests, bodies } = take?.() ?? {};
  result(`${name}, requests to the server`, lists + zips + other, "requests");
  result("  writes", writes, "requests", { atMost: 0 });
  if (requests !== undefined) result("  requests to the source", requests, "requests");
  if (bodies !== undefined) result("  with a content", bodies, "requests", { atMost: 0 });
  result("  elapsed", seconds, "s");
  result("  beyond the server's own time", seconds - busy / 1000, "s");
  result("  memory", megabytes, "MB");
  server.stop();
  stop?.();
}

/** Measures an unchanged sync of each kind of source. */
export async function sources() {
  const directory = join(folder, "objects");
  const paths = [];
  for (let index = 0; index < count; index++) {
    const path = `${index % 100}/${index}.md`;
    mkdirSync(join(directory, String(index % 100)), { recursive: true });
    writeFileSync(join(directory, path), `Page ${String(index).padStart(5, "0")}. `.repeat(70));
    utimesSync(join(directory, path), CHANGED, CHANGED);
    paths.push(path);
  }
  await unchanged(`directory of ${count}`, { address: directory });
  await unchanged("program", program(directory, paths));
  await unchanged("git repository", repository(directory));
  await unchanged("site with ETags", await site(directory, paths));
  const rclone = remote(directory, paths);
  if (rclone) await unchanged("rclone", rclone);
  else console.log("rclone is not installed");
}
