// The dashboard of many runs on a terminal: processor time and memory while 50 and while 500 runs are active, in five
// applications, and four of them send 25 events a second. `node top.mjs serve RUNS` is the server process.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawn } from "@lydell/node-pty";
import { clean, folder, isServer, peakHook, result, serving, wf } from "./tools.mjs";

const apps = 5;
/** Runs on the screen. */
const shown = 33;
/** Seconds until all logs were read and four streams are open, and seconds that are measured. */
const [before, measured] = [12, 20];

if (isServer(import.meta.url)) serve(Number(process.argv[3]) / apps);

const idOf = (app, index) => `${app}f1d2c3b-4a59-4e68-8f77-${String(index).padStart(12, "0")}`;

/** Answers with the log of an application, all of whose runs are active, and with their events. */
function serve(runs) {
  const second = Math.floor(Date.now() / 1000);
  const row = (app, index) => ({
    id: idOf(app, index).replace("f1d2c3b", "aaaaaaa"),
    workflow_run: {
      id: idOf(app, index),
      version: "1",
      status: "running",
      triggered_from: "app-run",
      error: null,
      elapsed_time: 0,
      total_tokens: 0,
      total_steps: 1,
      created_at: second - index,
      finished_at: null,
      exceptions_count: 0,
    },
    created_from: "service-api",
    created_by_role: "end_user",
    created_by_account: null,
    created_by_end_user: { id: "e", type: "service-api", is_anonymous: false, session_id: "ann" },
    created_at: second - index,
  });
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const app = Number(request.headers.authorization.slice(-1));
    if (pathname.endsWith("/logs")) {
      const data = Array.from({ length: runs }, (_, index) => row(app, index));
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(
        JSON.stringify({ page: 1, limit: 100, total: runs, has_more: false, data }),
      );
    }
    const id = pathname.split("/").at(-2);
    const send = (event, data) =>
      response.write(
        `data: ${JSON.stringify({ event, workflow_run_id: id, task_id: id, data })}\n\n`,
      );
    response.writeHead(200, { "content-type": "text/event-stream" });
    send("workflow_started", { id, workflow_id: id, reason: "initial" });
    send("node_started", { id, node_id: "n", node_type: "code", title: "Sort" });
    const timer = setInterval(() => send("text_chunk", { text: "a few words " }), 40);
    response.on("close", () => clearInterval(timer));
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

/** Returns the share of a core and the MB at the peak that the dashboard takes. */
async function used(runs) {
  const { origin, stop } = await serving(fileURLToPath(import.meta.url), runs);
  const config = join(folder, `top-${runs}`);
  mkdirSync(config, { mode: 0o700 });
  const keys = Array.from({ length: apps }, (_, app) => [`app${app}`, { key: `app-bench${app}` }]);
  const profile = { base_url: `${origin}/v1`, apps: Object.fromEntries(keys) };
  const store = JSON.stringify({ default: "bench", profiles: { bench: profile } });
  writeFileSync(join(config, "profiles.json"), store, { mode: 0o600 });
  const [hook, report] = [join(folder, "top.cjs"), join(config, "usage.json")];
  writeFileSync(
    hook,
    `${peakHook}
     let begin;
     setTimeout(() => { begin = process.cpuUsage(); }, ${before * 1000}).unref();
     setTimeout(() => {
       const { user, system } = process.cpuUsage(begin);
       const usage = { share: (user + system) / 1e4 / ${measured}, megabytes: peak() };
       writeFileSync(${JSON.stringify(report)}, JSON.stringify(usage));
     }, ${(before + measured) * 1000}).unref();`,
  );
  const child = spawn(process.execPath, ["--require", hook, wf, "top", "--all-apps"], {
    cols: 100,
    rows: shown + 7,
    env: { ...clean, KB_CONFIG_DIR: config, TERM: "xterm-256color" },
  });
  let screen = "";
  child.onData((data) => (screen = (screen + data).slice(-20_000)));
  const ended = new Promise((resolve) => child.onExit(resolve));
  setTimeout(() => child.write("q"), (before + measured + 2) * 1000);
  const { exitCode } = await ended;
  stop();
  if (exitCode !== 0 || !screen.includes(`${runs - shown} more`))
    throw new Error(`wf top ended with ${exitCode}: ${screen}`);
  return JSON.parse(readFileSync(report, "utf8"));
}

export async function top() {
  const [few, many] = [50, 500];
  const [less, more] = [await used(few), await used(many)];
  result(`wf top, ${many} active runs, 100 events a second`, more.share, "% of a core");
  result(`  compared with ${few}`, more.share / less.share, "×", { atMost: 2 });
  result("  memory", more.megabytes, "MB");
  const further = ((more.megabytes - less.megabytes) * 2 ** 20) / (many - few);
  result("  memory of each further run", further, "bytes");
}
