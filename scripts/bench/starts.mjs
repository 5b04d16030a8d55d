// How long commands take from start to end, compared with bare node and curl.
import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { clean, folder, kb, loop, median, openSandbox, result, timed } from "./tools.mjs";

const rounds = 25;

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
  const direct = { ...clean, KB_BASE_URL: base, KB_KEY: "dataset-sandbox" };
  const stored = { ...clean, KB_CONFIG_DIR: join(folder, "config"), KB_NO_KEYRING: "1" };
  const add = [kb, "login", "bench", "--base-url", base, "--key-file", "-", "--no-check"];
  spawnSync(process.execPath, add, {
    env: { ...stored, KB_NO_KEYRING: "1" },
    input: "dataset-sandbox",
  });

  const undici = loop(
    `const { body } = await agent.request({ origin: ${JSON.stringify(new URL(url).origin)}, path: "/v1/datasets", method: "GET" }); await body.json();`,
  );
  const cases = [
    { what: "node -e 0", args: ["-e", "0"], env: clean },
    { what: "curl, the same request", program: "curl", args: ["-s", url], env: clean },
    { what: "node with undici, the same request", args: ["-e", undici], env: clean },
    { what: "kb --version", args: [kb, "--version"], env: direct, atMost: 1.4 },
    { what: "kb create --help", args: [kb, "create", "--help"], env: direct, atMost: 1.4 },
    { what: "a usage error", args: [kb, "create", "--nmae"], env: direct, atMost: 1.4, exit: 2 },
    { what: "a dry run", args: [kb, "create", "A", "--dry-run"], env: direct, atMost: 1.4 },
    { what: "kb list, environment", args: [kb, "list"], env: direct, atMost: 2.6 },
    { what: "kb list, stored profile", args: [kb, "list"], env: stored, atMost: 3 },
  ].filter(({ program }) => program === undefined || spawnSync(program, ["-V"]).status === 0);

  const bare = await series(cases, "");
  // Node.js reads extra certificate authorities at each start, so bare Node takes longer as well.
  if (process.env.NODE_EXTRA_CA_CERTS) {
    const own = cases.map(({ env, what, program, args, exit }) => ({
      what,
      program,
      args,
      exit,
      env: { ...env, NODE_EXTRA_CA_CERTS: "" },
    }));
    await series(own, ", no NODE_EXTRA_CA_CERTS");
  }
  server.close();

  const took = [];
  for (let round = 0; round < 5; round++) {
    const sandbox = await openSandbox();
    took.push(sandbox.took);
    await sandbox.stop();
  }
  result("sandbox until it is ready", median(took) / bare, "× node -e 0", { atMost: 10 });
  result("sandbox, a list of 20", await sandboxList(), "ms", { atMost: 5 });
}

/** Runs the commands in turn, repeatedly; reports each as a ratio to the first, which is in ms. */
async function series(cases, circumstance) {
  const times = cases.map(() => []);
  for (let round = -2; round < rounds; round++) {
    for (const [index, each] of cases.entries()) {
      const took = await timed(each);
      if (round >= 0) times[index].push(took); // the first two warm the file cache
    }
  }
  const [bare, ...others] = times.map(median);
  result(`${cases[0].what}${circumstance}`, bare, "ms");
  for (const [index, { what, atMost }] of cases.slice(1).entries()) {
    const ratio = others[index] / bare;
    result(`${what}${circumstance}`, ratio, "× node -e 0", { ...(atMost && { atMost }) });
  }
  return bare;
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
