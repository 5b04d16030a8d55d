// Exporting a complete log: rows per second, and how memory grows with the rows.
// `node logs.mjs serve COUNT` is the server process.
import { closeSync, openSync, readSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clean, folder, measured, median, result, serving, wf } from "./tools.mjs";

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

/** Measures the export of a complete log: rows per second, and how memory grows with the rows. */
export async function logs() {
  const [few, many] = [100_000, 1_000_000];
  const once = async (rows) => {
    const { origin, stop } = await serving(fileURLToPath(import.meta.url), rows);
    const target = join(folder, `runs-${rows}.jsonl`);
    const env = { ...clean, KB_BASE_URL: `${origin}/v1`, KB_APP_KEY: "app-bench" };
    const run = await measured([wf, "logs", "export", target, "-q"], env);
    stop();
    let lines = 0;
    for (const chunk of chunksOf(target)) for (const byte of chunk) if (byte === 10) lines++;
    if (lines !== rows) throw new Error(`${lines} of ${rows} rows were exported`);
    rmSync(target);
    return run;
  };
  // Garbage collection moves the peak by some MB, so the lower one of two counts.
  const twice = async (rows) => {
    const runs = [await once(rows), await once(rows)];
    return {
      seconds: median(runs.map(({ seconds }) => seconds)),
      megabytes: Math.min(...runs.map(({ megabytes }) => megabytes)),
    };
  };
  const less = await twice(few);
  const more = await twice(many);
  const rate = many / more.seconds;
  const bytes = ((more.megabytes - less.megabytes) * 1024 * 1024) / (many - few);
  result(`wf logs export of ${many} rows`, rate, "rows/s", { atLeast: 20_000 });
  result(`  memory beyond that for ${few}`, bytes, "bytes per row", { atMost: 16 });
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
