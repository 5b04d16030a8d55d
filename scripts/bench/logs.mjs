// Exporting a complete log: rows per second, and how memory grows with the rows.
// `node logs.mjs serve COUNT` is the server process.
import { closeSync, openSync, readSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clean, compared, folder, grown, loop, measured, serving, wf } from "./tools.mjs";

if (process.argv[2] === "serve") serve(Number(process.argv[3]));

/** Template of a log row like those of a real server, about 600 bytes. */
export function logRow() {
  return JSON.stringify({
    id: "6f1d2c3b-4a59-4e68-8f77-LOG_________",
    workflow_run: {
      id: "0190f2b4-5f6a-7c31-9d2e-LOG_________",
      version: "2026-11-21 00:02:02.696187",
      status: "succeeded",
      triggered_from: "app-run",
      error: null,
      elapsed_time: 0.029812,
      total_tokens: 120,
      total_steps: 2,
      created_at: "SECOND",
      finished_at: "SECOND",
      exceptions_count: 0,
    },
    details: null,
    created_from: "service-api",
    created_by_role: "end_user",
    created_by_account: null,
    created_by_end_user: {
      id: "92faeba1-32ec-470f-a2a8-3d434b76fa6a",
      type: "service-api",
      is_anonymous: false,
      session_id: "ann",
    },
    created_at: "SECOND",
  }).replaceAll('"SECOND"', "SECOND");
}

/** Serves a log of `total` rows, seven per second, newest first. Prints its address. */
function serve(total) {
  const perSecond = 7;
  const newest = Math.floor(Date.now() / 1000);
  const pieces = logRow().split(/(LOG_________|SECOND)/);
  const row = (index) => {
    const id = String(index).padStart(12, "0");
    const second = String(newest - Math.floor(index / perSecond));
    const values = { SECOND: second, LOG_________: id };
    let text = "";
    for (const piece of pieces) text += values[piece] ?? piece;
    return text;
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    response.writeHead(200, { "content-type": "application/json" });
    if (pathname.endsWith("/info")) return response.end('{"name":"bench","tags":[]}');
    const [page, limit] = [Number(searchParams.get("page")), Number(searchParams.get("limit"))];
    const before = searchParams.get("created_at__before");
    const end = before === null ? newest : Date.parse(before) / 1000;
    const skipped = Math.max(0, newest - end) * perSecond;
    const data = [];
    const first = skipped + (page - 1) * limit;
    for (let index = first; index < Math.min(first + limit, total); index++) data.push(row(index));
    const left = Math.max(0, total - skipped);
    response.end(
      `{"page":${page},"limit":${limit},"total":${left},"has_more":${left > page * limit},"data":[${data}]}`,
    );
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

/**
 * A loop that reads a log as it must be read: the pages overlap in one second, whose rows have no order.
 * `use` is code for the rows of a page, `end` for after the last one.
 */
const bareLoop = (origin, use, end = "") =>
  loop(`
    let before = "";
    for (;;) {
      const { body } = await agent.request({ origin: ${JSON.stringify(origin)}, path: "/v1/workflows/logs?page=1&limit=100" + before, method: "GET" });
      const { data, total } = await body.json();
      const edge = data.at(-1).created_at;
      const isLast = data.length >= total;
      const rows = isLast ? data : data.filter((row) => row.created_at > edge);
      ${use}
      if (isLast) break;
      before = "&created_at__before=" + new Date(edge * 1000).toISOString();
    }
    ${end}`);

/** Measures the export of a complete log and its statistics, compared with loops that read the same pages. */
export async function logs() {
  const [few, many] = [100_000, 1_000_000];
  const script = fileURLToPath(import.meta.url);
  const target = join(folder, "runs.jsonl");
  const envOf = (origin) => ({ ...clean, KB_BASE_URL: `${origin}/v1`, KB_APP_KEY: "app-bench" });
  const exported = async (origin, rows, args) => {
    const run = await measured(args, envOf(origin));
    let lines = 0;
    for (const chunk of chunksOf(target)) for (const byte of chunk) if (byte === 10) lines++;
    if (lines !== rows) throw new Error(`${lines} of ${rows} rows were exported`);
    rmSync(target);
    return run;
  };
  const exportLine = [wf, "logs", "export", target, "-q"];

  const { origin, stop } = await serving(script, few);
  const writing = bareLoop(
    origin,
    `if (!out.write(rows.map((row) => JSON.stringify(row) + "\\n").join(""))) await once(out, "drain");`,
    "await new Promise((resolve) => out.end(resolve));",
  ).replace(
    "let before",
    `const { once } = require("node:events");
     const out = require("node:fs").createWriteStream(${JSON.stringify(target)});
     let before`,
  );
  await compared({
    count: few,
    bare: () => exported(origin, few, ["-e", writing]),
    ours: () => exported(origin, few, exportLine),
    name: `wf logs export of ${few} rows`,
    limit: { atLeast: 80 },
  });
  const statsLine = [wf, "stats", "--since", "2d", "--no-compare", "-o", "json", "-q"];
  const reading = bareLoop(origin, "");
  await compared({
    count: few,
    bare: () => measured(["-e", reading]),
    ours: () => measured(statsLine, envOf(origin)),
    name: `wf stats of ${few} rows`,
    limit: { atLeast: 80 },
  });
  stop();

  const servers = new Map();
  for (const rows of [few, many]) servers.set(rows, await serving(script, rows));
  const load = (name, run, bytes) => grown({ name, unit: "row", sizes: [few, many], run, bytes });
  const exporting = (rows) => exported(servers.get(rows).origin, rows, exportLine);
  await load("wf logs export", exporting, 16);
  await load("wf stats", (rows) => measured(statsLine, envOf(servers.get(rows).origin)), 200);
  for (const server of servers.values()) server.stop();
}

/** Reads a file in pieces. */
function* chunksOf(path) {
  const file = openSync(path, "r");
  const buffer = Buffer.alloc(1 << 20);
  for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
    yield buffer.subarray(0, size);
  }
  closeSync(file);
}
