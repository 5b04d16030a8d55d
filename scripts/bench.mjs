// Speed as ratios to a bare `node -e 0`, medians of interleaved runs. Prints a table; never a test.
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare, root } from "./prepare.mjs";

prepare();

const rounds = Number(process.argv[2] ?? 25);
const folder = mkdtempSync(join(tmpdir(), "kb-wf-bench-"));
const kb = join(root, "bin", "kb.js");
const clean = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(KB_|DIFY_)/.test(name)),
);

const list = JSON.stringify({
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

/** One request's worth of a server, in a process of its own so that it does not share our loop. */
const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(list);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${server.address().port}/v1`;

const direct = {
  ...clean,
  KB_CONFIG_DIR: join(folder, "none"),
  KB_BASE_URL: base,
  KB_KEY: "dataset-sandbox",
};
const stored = { ...clean, KB_CONFIG_DIR: join(folder, "config") };
spawnSync(
  process.execPath,
  [kb, "profile", "add", "bench", "--base-url", base, "--key-file", "-"],
  {
    env: stored,
    input: "dataset-sandbox",
  },
);

const cases = [
  { name: "node -e 0", args: ["-e", "0"], env: clean },
  { name: "--version", args: [kb, "--version"], env: direct, budget: 1.4 },
  { name: "create --help", args: [kb, "create", "--help"], env: direct, budget: 1.4 },
  { name: "usage error", args: [kb, "create", "--nmae", "x"], env: direct, budget: 1.4, exit: 2 },
  { name: "dry run", args: [kb, "create", "A", "--dry-run"], env: direct, budget: 1.4 },
  { name: "list, environment", args: [kb, "list"], env: direct, budget: 2.6 },
  { name: "list, stored profile", args: [kb, "list"], env: stored, budget: 3.0 },
];

const once = ({ args, env, exit = 0 }) =>
  new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(process.execPath, args, { env, stdio: "ignore" });
    child.on("exit", (code) => {
      if (code === exit) resolve(performance.now() - start);
      else reject(new Error(`${args.join(" ")} ended with ${code}`));
    });
  });

const times = new Map(cases.map(({ name }) => [name, []]));
for (let round = -2; round < rounds; round++) {
  for (const each of cases) {
    const took = await once(each);
    if (round >= 0) times.get(each.name).push(took); // the first two warm the file cache
  }
}
server.close();

const median = (values) =>
  values.toSorted?.((a, b) => a - b)[values.length >> 1] ??
  [...values].sort((a, b) => a - b)[values.length >> 1];
const bare = median(times.get("node -e 0"));
const rows = cases.map(({ name, budget }) => {
  const ms = median(times.get(name));
  return { what: name, ms, ratio: ms / bare, budget };
});

// The sandbox: how long until it answers, and the server time of a list of 20.
const sandboxTimes = [];
for (let round = 0; round < 5; round++) {
  sandboxTimes.push(await sandboxStart());
}
rows.push({
  what: "sandbox start",
  ms: median(sandboxTimes),
  ratio: median(sandboxTimes) / bare,
  budget: 10,
});
rows.push({ what: "sandbox, list of 20", ms: await sandboxList(), budget: "5 ms" });
rmSync(folder, { recursive: true, force: true });

async function openSandbox() {
  const start = performance.now();
  const child = spawn(process.execPath, [kb, "sandbox", "--ephemeral", "-o", "json"], {
    env: { ...clean, KB_CONFIG_DIR: join(folder, "none"), KB_STATE_DIR: join(folder, "state") },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const address = await new Promise((resolve) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      try {
        resolve(JSON.parse(text));
      } catch {
        // the rest of the line is still to come
      }
    });
  });
  return { child, address, took: performance.now() - start };
}

async function sandboxStart() {
  const { child, took } = await openSandbox();
  child.kill("SIGTERM");
  await new Promise((resolve) => child.on("exit", resolve));
  return took;
}

async function sandboxList() {
  const { child, address } = await openSandbox();
  const headers = { authorization: `Bearer ${address.key}`, "content-type": "application/json" };
  for (let index = 0; index < 20; index++) {
    await fetch(`${address.base_url}/datasets`, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: `KB ${index}` }),
    });
  }
  const took = [];
  for (let index = 0; index < 50; index++) {
    const start = performance.now();
    await (await fetch(`${address.base_url}/datasets?limit=20`, { headers })).text();
    took.push(performance.now() - start);
  }
  child.kill("SIGTERM");
  return median(took);
}

const text = (value, digits, unit) =>
  typeof value === "number" ? `${value.toFixed(digits)}${unit}` : (value ?? "");
console.log(`\nNode ${process.version}, ${rounds} rounds, medians\n`);
for (const { what, ms, ratio, budget } of rows) {
  const over = typeof budget === "number" && ratio > budget ? "  over" : "";
  console.log(
    `${what.padEnd(24)} ${text(ms, 1, " ms").padStart(10)} ${text(ratio, 2, "×").padStart(8)} ${text(budget, 1, "×").padStart(8)}${over}`,
  );
}
