// Five syncs at once of a server with ten connections, compared with the best that one process can do.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, kb, openSandbox, result } from "./tools.mjs";

const [connections, processes, count] = [10, 5, 500];
/** Each document takes that long, so that the server has more to do than this machine. */
const delay = "200ms";

/** Runs a program to its end; resolves to its exit code and what it wrote to stderr. */
const run = (args, env) =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [kb, ...args], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (chunk) => (err += chunk));
    child.on("exit", (code) => resolve({ code, err }));
  });

/** Syncs a directory of its own with each process; returns the seconds, and how many requests failed. */
async function syncs(name, number, flags) {
  const fault = `POST */create-by-text delay=${delay}`;
  const { env, stop } = await openSandbox("--connections", connections, "--fault", fault);
  const lines = [];
  for (let index = 0; index < number; index++) {
    const base = `${name} ${index}`;
    const directory = join(folder, base);
    mkdirSync(directory);
    for (let file = 0; file < count / number; file++)
      writeFileSync(join(directory, `${file}.md`), `Page ${file} of ${base}`);
    await run(["create", base, "--indexing-technique", "economy"], env);
    lines.push(["sync", base, directory, "--no-wait", "-v", ...flags]);
  }
  const start = performance.now();
  const ends = await Promise.all(lines.map((line) => run(line, env)));
  const seconds = (performance.now() - start) / 1000;
  await stop();
  const retries =
    ends
      .map(({ err }) => err)
      .join("")
      .match(/: retry \d/g)?.length ?? 0;
  const failed = ends.filter(({ code }) => code !== 0).length;
  return { seconds, failed: failed + retries };
}

/** Measures the throughput of several processes at a server with ten connections. */
export async function connectionsAtOnce() {
  let best = Infinity;
  for (const max of [8, 10, 12]) {
    const { seconds } = await syncs(`one ${max}`, 1, ["--concurrency", String(max)]);
    result(`one process, --concurrency ${max}`, count / seconds, "per second");
    best = Math.min(best, seconds);
  }
  const together = await syncs("five", processes, []);
  result("five processes at once", count / together.seconds, "per second");
  result("  of the best single process", (100 * best) / together.seconds, "%", { atLeast: 90 });
  result("  retries and failures", together.failed, "", { atMost: 0 });
}
