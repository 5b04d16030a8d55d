// Single large things: a file that is uploaded or synced, and an event of one line. Time and memory of two sizes.
// `node large.mjs serve` is the server process, which keeps nothing.
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { base, knowledgeBase, shown } from "./knowledge-server.mjs";
import { clean, folder, grown, isServer, kb, measured, serving, wf } from "./tools.mjs";

const run = "f0814fd6-733e-4d64-8910-99311df67d60";
const document = shown({ id: run, index: 0, name: "large", metadata: [] });

if (isServer(import.meta.url)) serve();

/** Answers uploads once it has read them, and streams an event with as many MB of text as the user's name says. */
function serve() {
  const answers = {
    documents: { data: [], has_more: false, limit: 100, total: 0, page: 1 },
    metadata: {
      id: run,
      name: "field",
      type: "string",
      doc_metadata: [],
      built_in_field_enabled: false,
      result: "success",
    },
    "create-by-file": { document, batch: "1" },
    "create-by-text": { document, batch: "1" },
    [base]: knowledgeBase,
    [run]: { id: run, status: "running" },
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    request.resume().on("end", async () => {
      if (pathname.endsWith("/events")) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        await writeEvent(response, Number(searchParams.get("user")));
        return;
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answers[pathname.split("/").at(-1)]));
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

/** Writes an event whose text has as many MB, and the end of the run. */
async function writeEvent(response, megabytes) {
  const inRun = (event, data) =>
    JSON.stringify({ event, workflow_run_id: run, task_id: run, data });
  const [before, after] = inRun("text_chunk", { text: "|" }).split("|");
  response.write(`data: ${before}`);
  const piece = "words ".repeat(2 ** 18).slice(0, 2 ** 20);
  const closed = once(response, "close");
  for (let left = megabytes; left > 0 && !response.destroyed; left--)
    if (!response.write(piece)) await Promise.race([once(response, "drain"), closed]);
  response.end(
    `${after}\n\ndata: ${inRun("workflow_finished", { id: run, status: "succeeded" })}\n\n`,
  );
}

export async function large() {
  const { origin, stop } = await serving(fileURLToPath(import.meta.url));
  const env = {
    ...clean,
    KB_BASE_URL: `${origin}/v1`,
    KB_KEY: "dataset-bench",
    KB_APP_KEY: "app-x",
  };
  await files(env);
  await lines(env);
  stop();
}

/** Binary files are uploaded from the disk or from stdin; the text of a synced one is part of a JSON request. */
async function files(env) {
  const directory = join(folder, "large");
  const path = join(directory, "large.pdf");
  mkdirSync(directory);
  const load = (name, argv, { bytes, fromStdin } = {}) =>
    grown({
      name,
      units: "MB",
      unit: "MB",
      sizes: [100, 1000],
      bytes,
      async run(size) {
        writeFileSync(path, "");
        truncateSync(path, size * 2 ** 20);
        const stdin = fromStdin ? openSync(path) : "ignore";
        const figures = await measured([kb, ...argv], env, { stdin });
        if (fromStdin) closeSync(stdin);
        return figures;
      },
    });
  await load("kb doc upload of a file", ["doc", "upload", base, path, "-q"], { bytes: 2 ** 16 });
  const stdin = { bytes: 1.2 * 2 ** 20, fromStdin: true };
  await load("kb doc upload from stdin", ["doc", "upload", base, "-", "-q"], stdin);
  // It is hashed before it is sent, so it is read at once.
  const sync = ["sync", base, directory, "--no-wait", "-q"];
  await load("kb sync of a file", sync, { bytes: 2.2 * 2 ** 20 });
  rmSync(directory, { recursive: true });
}

/** An event of more than 64 MiB is rejected: a stream without line breaks must not fill the memory. */
async function lines(env) {
  const follow = [wf, "events", run, "--follow", "-o", "jsonl", "-q"];
  const load = (name, sizes, exit, bytes) =>
    grown({
      name,
      units: "MB",
      unit: "MB",
      sizes,
      bytes,
      run: (size) => measured(follow, { ...env, KB_USER: String(size) }, { exit }),
    });
  await load("wf events --follow, an event of one line", [20, 60], 0);
  await load("rejected, an event of one line", [100, 200], 1, 2 ** 18);
}
