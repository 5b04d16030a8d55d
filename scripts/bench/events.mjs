// Following a stream: events per second compared with a bare loop, memory, delay, and the cost of idling.
// `node events.mjs serve COUNT` is the server process.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clean, compared, folder, loop, measured, median, result, serving, wf } from "./tools.mjs";

const run = "f0814fd6-733e-4d64-8910-99311df67d60";
const task = "39854d6a-d769-46ed-a952-ea21d4e0da66";
const inRun = (event, data) =>
  `data: ${JSON.stringify({ event, workflow_run_id: run, task_id: task, data })}\n\n`;

if (process.argv[2] === "serve") serve(Number(process.argv[3]));

/** Serves a canned run: `/…/events` sends COUNT events and ends; with `user=slow` one event every 20 ms. */
function serve(count) {
  const start = inRun("workflow_started", { id: run, workflow_id: run, reason: "initial" });
  const end = inRun("workflow_finished", { id: run, status: "succeeded", outputs: { a: 1, b: 2 } });
  const node = (index, kind) =>
    inRun(kind, {
      id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
      node_id: `node${index % 50}`,
      node_type: "code",
      title: "Sort",
      ...(kind === "node_finished" && { status: "succeeded" }),
    });
  // About 240 bytes each, like the server's text events; every tenth one is a node event.
  const at = (index) => {
    if (index % 20 === 0) return node(index, "node_started");
    if (index % 20 === 10) return node(index - 10, "node_finished");
    return inRun("text_chunk", {
      text: `a few words, number ${index} `,
      from_variable_selector: ["1754154032319", "text"],
    });
  };

  const server = createServer(async (request, response) => {
    if (!request.url.includes("/events")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: run, status: "running" }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const write = (text) =>
      response.write(text) || new Promise((resolve) => response.once("drain", resolve));
    await write(`event: ping\n\n${start}`);
    if (request.url.includes("user=idle")) {
      setInterval(() => response.write("event: ping\n\n"), 10_000).unref();
      return;
    }
    if (request.url.includes("user=slow")) {
      for (let index = 0; index < 200; index++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await write(
          inRun("text_chunk", { text: `at ${performance.timeOrigin + performance.now()}` }),
        );
      }
    } else {
      let text = "";
      for (let index = 0; index < count; index++) {
        text += at(index);
        if (text.length < 60_000) continue;
        await write(text);
        text = "";
      }
      await write(text);
    }
    response.end(end);
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

export async function events() {
  const count = 1_000_000;
  const script = fileURLToPath(import.meta.url);
  const [many, few] = [await serving(script, count), await serving(script, count / 10)];
  const env = ({ origin }, user) => ({
    ...clean,
    KB_BASE_URL: `${origin}/v1`,
    KB_APP_KEY: "app-bench",
    KB_USER: user,
  });
  const follow = [wf, "events", run, "--follow", "-o", "jsonl", "-q"];
  const bare = loop(`
    const { createParser } = require("eventsource-parser");
    const { body } = await agent.request({ origin: ${JSON.stringify(many.origin)}, path: "/v1/workflow/${run}/events", method: "GET" });
    const decoder = new TextDecoder();
    let count = 0;
    const parser = createParser({ onEvent: ({ data }) => { if (JSON.parse(data).event) count++; } });
    for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
    if (count !== ${count} + 2) throw new Error(String(count));`);

  const runs = await compared({
    count,
    unit: "per second",
    bare: () => measured(["-e", bare]),
    ours: () => measured(follow, env(many, "bench")),
    name: `wf events --follow -o jsonl of ${count} events`,
    limit: { atLeast: 77 },
  });
  const peak = median(runs.map((each) => each.megabytes));
  result("  memory at its peak", peak, "MB", { atMost: 170 });
  const less = await measured(follow, env(few, "bench"));
  const grown = peak - less.megabytes;
  result(`  memory beyond that for ${count / 10}`, grown, "MB", { atMost: 30 });
  const delay = await delayOf(follow, env(many, "slow"));
  result("delay from the server to the printed line, median", delay, "ms", { atMost: 5 });
  const share = 100 * (await idle(follow, env(many, "idle")));
  result("following an idle run", share, "% of a core", { atMost: 1 });
  many.stop();
  few.stop();
}

/** Returns the median delay in ms. The server puts its clock into each event; both processes share it. */
async function delayOf(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  const took = [];
  child.stdout.on("data", (chunk) => {
    const now = performance.timeOrigin + performance.now();
    for (const [, then] of String(chunk).matchAll(/"at (\d+\.?\d*)"/g)) took.push(now - then);
  });
  await new Promise((resolve) => child.on("close", resolve));
  return median(took);
}

/** Returns the share of a core that a process uses in ten seconds with a single ping. */
async function idle(args, env) {
  const hook = join(folder, "idle.cjs");
  const report = join(folder, "idle.txt");
  writeFileSync(
    hook,
    `let begin;
     setTimeout(() => { begin = process.cpuUsage(); }, 2000);
     setTimeout(() => {
       const { user, system } = process.cpuUsage(begin);
       require("node:fs").writeFileSync(${JSON.stringify(report)}, String((user + system) / 1e7));
       process.exit(0);
     }, 12_000);`,
  );
  const child = spawn(process.execPath, ["--require", hook, ...args], { env, stdio: "ignore" });
  await new Promise((resolve) => child.on("close", resolve));
  return Number(readFileSync(report, "utf8"));
}
