// How long commands take from start to end, compared with bare node and curl: elapsed and processor time. The
// greater of the two must keep the limit; where other programs use the machine, both are more than alone.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { clean, folder, kb, loop, median, openSandbox, result, timed } from "./tools.mjs";

const rounds = 25;
/**
 * Limits as multiples of bare Node.js. Node.js 20 compiles the code of a command at each start; later versions
 * keep compiled code (docs/performance.md, "Starts"). Those of Node.js 20 are measured values plus 5 %.
 */
const limits = process.version.startsWith("v20.")
  ? { ready: 1.2, word: 1.9, usage: 1.78, argument: 2, dryRun: 2.13, list: 3.6, stored: 3.78 }
  : { ready: 1.4, word: 1.4, usage: 1.4, argument: 1.4, dryRun: 1.4, list: 3.2, stored: 3.2 };

/** A page of a list, as a server sends it. */
const page = JSON.stringify({
  data: Array.from({ length: 20 }, (_, index) => ({
    id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    name: `Knowledge base ${index}`,
    indexing_technique: "economy",
    document_count: index,
    word_count: 100 * index,
    created_at: 1_790_000_000 + index,
  })),
  has_more: true,
  limit: 20,
  total: 340,
  page: 1,
});

export async function starts() {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(page);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${server.address().port}/v1`;
  const url = `${base}/datasets?page=1&limit=20`;
  // Node.js reads extra certificate authorities at each start, so bare Node.js would take longer as well.
  const { NODE_EXTRA_CA_CERTS: _, ...bare } = clean;
  const direct = { ...bare, KB_BASE_URL: base, KB_KEY: "dataset-sandbox" };
  const stored = { ...bare, KB_CONFIG_DIR: join(folder, "config"), KB_NO_KEYRING: "1" };
  const add = [kb, "login", "bench", "--base-url", base, "--key-file", "-", "--no-check"];
  spawnSync(process.execPath, add, {
    env: { ...stored, KB_NO_KEYRING: "1" },
    input: "dataset-sandbox",
  });

  const undici = loop(
    `const { body } = await agent.request({ origin: ${JSON.stringify(new URL(url).origin)}, path: "/v1/datasets", method: "GET" }); await body.json();`,
  );
  const cases = [
    { what: "node -e 0", args: ["-e", "0"], env: bare },
    { what: "curl, the same request", program: "curl", args: ["-s", url], env: bare },
    { what: "node with undici, the same request", args: ["-e", undici], env: bare },
    { what: "kb --version", args: [kb, "--version"], env: direct, atMost: limits.ready },
    { what: "kb create --help", args: [kb, "create", "--help"], env: direct, atMost: limits.ready },
    { what: "an unknown word", args: [kb, "lsit"], env: direct, atMost: limits.word, exit: 2 },
    {
      what: "a usage error",
      args: [kb, "create", "--nmae"],
      env: direct,
      atMost: limits.usage,
      exit: 2,
    },
    {
      what: "a missing argument",
      args: [kb, "create"],
      env: direct,
      atMost: limits.argument,
      exit: 2,
    },
    {
      what: "a dry run",
      args: [kb, "create", "A", "--dry-run"],
      env: direct,
      atMost: limits.dryRun,
    },
    { what: "kb list, environment", args: [kb, "list"], env: direct, atMost: limits.list },
    {
      what: "kb list, stored profile",
      args: [kb, "list"],
      env: stored,
      atMost: limits.stored,
    },
  ].filter(({ program }) => program === undefined || spawnSync(program, ["-V"]).status === 0);
  const bareTime = await series(cases);
  server.close();

  const took = [];
  for (let round = 0; round < 5; round++) {
    const sandbox = await openSandbox();
    took.push(sandbox.took);
    await sandbox.stop();
  }
  result("sandbox until it is ready", median(took) / bareTime, "× node -e 0", { atMost: 10 });
  result("sandbox, a list of 20", await sandboxList(), "ms", { atMost: 5 });
}

/**
 * Runs the commands in turn, repeatedly; reports the first in ms and the others as the median of their
 * ratios to the first in the same round. Returns the time of the first.
 */
async function series(cases) {
  const times = cases.map(() => []);
  const processor = cases.map(() => 0);
  for (let round = -2; round < rounds; round++) {
    for (const [index, each] of cases.entries()) {
      const before = processorTime();
      const took = await timed(each);
      if (round < 0) continue; // the first two warm the file cache and compile
      times[index].push(took);
      processor[index] += processorTime() - before;
    }
  }
  const [bare, ...others] = times;
  result(cases[0].what, median(bare), "ms");
  for (const [index, { what, atMost }] of cases.slice(1).entries()) {
    const limit = atMost === undefined ? {} : { atMost };
    const ratios = others[index].map((took, round) => took / bare[round]);
    result(`${what}, elapsed`, median(ratios), "× node -e 0", limit);
    if (processor[0] === 0) continue;
    result(`${what}, processor`, processor[index + 1] / processor[0], "× node -e 0", limit);
  }
  return median(bare);
}

/** Returns the processor time of all programs that were run, in ticks of 10 ms; 0 if it is unknown. */
function processorTime() {
  if (process.platform !== "linux") return 0;
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
  return Number(fields[13]) + Number(fields[14]); // cutime and cstime
}

/** Returns the server time of a list of 20, in ms. */
async function sandboxList() {
  const { address, stop } = await openSandbox();
  const headers = { authorization: `Bearer ${address.key}`, "content-type": "application/json" };
  for (let index = 0; index < 20; index++) {
    const body = JSON.stringify({ name: `KB ${index}` });
    await fetch(`${address.base_url}/datasets`, { method: "POST", headers, body });
  }
  const took = [];
  for (let index = 0; index < 50; index++) {
    const start = performance.now();
    await (await fetch(`${address.base_url}/datasets?limit=20`, { headers })).text();
    took.push(performance.now() - start);
  }
  await stop();
  return median(took);
}
