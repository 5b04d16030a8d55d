// Prints tables, never a test. Starts as ratios to a bare `node -e 0`, medians of interleaved runs;
// all else as ratios to a bare loop over the same requests. `bench PART` measures one part alone,
// `bench starts ROUNDS` with more or fewer rounds.
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { events } from "./bench/events.mjs";
import { knowledge } from "./bench/knowledge.mjs";
import { logs } from "./bench/logs.mjs";
import { stats } from "./bench/stats.mjs";
import { timeline } from "./bench/timeline.mjs";
import { prepare, root } from "./prepare.mjs";

const serves = process.argv[2] === "serve";
const folder = serves ? "" : mkdtempSync(join(tmpdir(), "kb-wf-bench-"));
const kb = join(root, "bin", "kb.js");
const wf = join(root, "bin", "wf.js");
const clean = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(KB_|DIFY_)/.test(name)),
);

/** What is measured, by the word that picks it. */
const parts = {
  starts: () => starts(Number(process.argv[3] ?? 25)),
  tree,
  lists,
  bulk,
  events,
  timeline,
  logs,
  stats,
  knowledge,
};

if (serves) {
  serveList(Number(process.argv[3]));
} else {
  prepare();
  const picked = process.argv[2];
  if (picked !== undefined && !Object.hasOwn(parts, picked))
    throw new Error(`parts are ${Object.keys(parts).join(", ")}`);
  const tools = { folder, kb, wf, clean, loop, measured, median, openSandbox };
  for (const [name, part] of Object.entries(parts)) {
    if (picked === undefined || picked === name) await part(tools);
  }
  rmSync(folder, { recursive: true, force: true });
}

/** How long command lines take from start to end. */
async function starts(rounds) {
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

  console.log(`\nNode ${process.version}, ${rounds} rounds, medians\n`);
  for (const { what, ms, ratio, budget } of rows) {
    const over = typeof budget === "number" && ratio > budget ? "  over" : "";
    console.log(
      `${what.padEnd(24)} ${text(ms, 1, " ms").padStart(10)} ${text(ratio, 2, "×").padStart(8)} ${text(budget, 1, "×").padStart(8)}${over}`,
    );
  }
}

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

/** Rows as a real server gives them, about 900 bytes each. */
function baseRow(index) {
  return {
    id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    name: `Knowledge base ${index}`,
    description: "Everything that new colleagues ask in their first weeks, and the answers",
    provider: "vendor",
    permission: "all_team_members",
    data_source_type: "upload_file",
    indexing_technique: "economy",
    app_count: index % 7,
    document_count: index % 90,
    word_count: index * 10,
    created_by: "6f1d2c3b-4a59-4e68-8f77-0a1b2c3d4e5f",
    author_name: "admin",
    created_at: 1_790_000_000 - index,
    updated_by: "6f1d2c3b-4a59-4e68-8f77-0a1b2c3d4e5f",
    updated_at: 1_790_000_000 - index,
    embedding_model: null,
    embedding_model_provider: null,
    embedding_available: true,
    retrieval_model_dict: {
      search_method: "keyword_search",
      reranking_enable: false,
      reranking_mode: null,
      reranking_model: { reranking_provider_name: "", reranking_model_name: "" },
      weights: null,
      top_k: 2,
      score_threshold_enabled: false,
      score_threshold: 0.5,
    },
    tags: [],
    doc_form: "text_model",
    external_knowledge_info: null,
    doc_metadata: [],
    built_in_field_enabled: false,
  };
}

/** Serves a list of that many rows, pages of at most 100, in this process. Prints its address. */
function serveList(total) {
  const rows = Array.from({ length: 100 }, (_, index) => JSON.stringify(baseRow(index)));
  const idOf = (index) => String(index).padStart(12, "0");
  const server = createServer((request, response) => {
    const query = new URL(request.url, "http://localhost").searchParams;
    const [page, limit] = [Number(query.get("page")), Number(query.get("limit"))];
    const first = (page - 1) * limit;
    const data = [];
    for (let index = first; index < Math.min(first + limit, total); index++) {
      data.push(rows[index % 100].replace(/(?<=8000-)\d{12}/, idOf(index)));
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      `{"data":[${data}],"has_more":${data.length === limit},"limit":${limit},"total":${total},"page":${page}}`,
    );
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

/** Runs a program to its end: seconds, and the most memory it ever held in MB. */
async function measured(args, env, stdout = "ignore") {
  const hook = join(folder, "memory.cjs");
  const report = join(folder, "memory.txt");
  writeFileSync(
    hook,
    `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(report)}, String(process.resourceUsage().maxRSS)));`,
  );
  const start = performance.now();
  const child = spawn(process.execPath, ["--require", hook, ...args], {
    env,
    stdio: ["ignore", stdout, "inherit"],
  });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}`);
  return {
    seconds: (performance.now() - start) / 1000,
    megabytes: Number(readFileSync(report, "utf8")) / 1024,
  };
}

/** Program text for `node -e`, run where the project's packages are found. */
function loop(lines) {
  return `const require = module.constructor.createRequire(${JSON.stringify(join(root, "package.json"))});
   const { Agent } = require("undici");
   const agent = new Agent();
   (async () => { ${lines} process.exit(0); })();`;
}

/** Makes the commands of a program and reads one line with them, in a process that did neither yet. */
async function tree() {
  // Inside the bundle the two have other names: they are bundled once more, with their own.
  const entry = join(folder, "tree.mjs");
  const source = (file) => JSON.stringify(join(root, "src", "cli", file));
  writeFileSync(
    entry,
    `export { commandsOf } from ${source("commands.ts")}; export { parse } from ${source("program.ts")};`,
  );
  const { rolldown } = await import("rolldown");
  const { plugins } = (await import("../rolldown.config.mjs")).default;
  const bundle = await rolldown({ input: { tree: entry }, platform: "node", cwd: root, plugins });
  const { codeSplitting: _, ...output } = (await import("../rolldown.config.mjs")).default.output;
  await bundle.write({ ...output, dir: join(folder, "tree") });
  const program = `
    const { commandsOf, parse } = require(${JSON.stringify(join(folder, "tree", "tree.cjs"))});
    const start = performance.now();
    parse(["kb", "doc", "add", "Handbook", "a.md", "--text", "x"], commandsOf("kb"));
    console.log(performance.now() - start);`;
  const times = [];
  for (let round = 0; round < 11; round++) {
    const { stdout, status } = spawnSync(process.execPath, ["-e", program], { env: clean });
    if (status !== 0) throw new Error("the commands could not be made");
    times.push(Number(stdout));
  }
  console.log(`\nCommand tree and one line parsed, cold: ${median(times).toFixed(1)} ms (≤ 10)`);
}

/** Every row of a long list, by format: speed beside a loop that only reads the pages, and memory. */
async function lists() {
  const [few, many] = [10_000, 100_000];
  const servers = [];
  const serve = async (rows) => {
    const child = spawn(process.execPath, [join(root, "scripts", "bench.mjs"), "serve", rows], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    servers.push(child);
    const port = await new Promise((resolve) => child.stdout.once("data", resolve));
    return `http://127.0.0.1:${String(port).trim()}`;
  };
  const [fewAt, manyAt] = [await serve(String(few)), await serve(String(many))];
  const bare = (parsed) =>
    loop(`for (let page = 1; page <= ${many / 100}; page++) {
      const { body } = await agent.request({ origin: ${JSON.stringify(manyAt)}, path: "/v1/datasets?page=" + page + "&limit=100", method: "GET" });
      ${parsed ? "await body.json();" : "await body.text();"}
    }`);
  const file = openSync(join(folder, "rows"), "w");
  const list = (format, base) =>
    measured(
      [kb, "list", "--all", "-o", format],
      {
        ...clean,
        KB_CONFIG_DIR: join(folder, "none"),
        KB_BASE_URL: `${base}/v1`,
        KB_KEY: "dataset-sandbox",
      },
      file,
    );

  const formats = ["jsonl", "csv", "tsv", "grid"];
  const runs = new Map(["text", "json", ...formats].map((name) => [name, []]));
  for (let round = 0; round < 3; round++) {
    runs.get("text").push(await measured(["-e", bare(false)], clean));
    runs.get("json").push(await measured(["-e", bare(true)], clean));
    for (const format of formats) runs.get(format).push(await list(format, manyAt));
  }
  const seconds = (name) => median(runs.get(name).map((run) => run.seconds));
  const megabytes = (name) => median(runs.get(name).map((run) => run.megabytes));
  const share = (name, of) => `${((100 * seconds(of)) / seconds(name)).toFixed(0)} %`.padStart(11);
  const rate = (name) => (many / seconds(name)).toFixed(0).padStart(8);
  const line = (title, name) =>
    `${title.padEnd(24)}${rate(name)}${share(name, "text")}${share(name, "json")}`;

  console.log(
    `\n${many} rows, medians of 3    rows/s    of text    of JSON    MB  more than for ${few} (< 30)`,
  );
  console.log(line("bare loop, text", "text"));
  console.log(line("bare loop, JSON parsed", "json"));
  for (const format of formats) {
    const less = await list(format, fewAt);
    const grown = megabytes(format) - less.megabytes;
    const memory = `${megabytes(format).toFixed(0).padStart(6)}${grown.toFixed(1).padStart(8)}`;
    console.log(
      `${line(`kb list --all -o ${format}`, format)}${memory}${grown < 30 ? "" : "  over"}`,
    );
  }
  closeSync(file);
  for (const child of servers) child.kill();
}

/** One rename per row of a file, beside a loop that sends the same requests. */
async function bulk() {
  const [count, lanes] = [10_000, 3];
  const { child, address } = await openSandbox();
  const origin = new URL(address.base_url).origin;
  const lanesOver = (method, bodyOf, first = 0, last = count) => `
    const names = ${JSON.stringify(join(folder, "tags.json"))};
    const ids = ${method === "POST" ? "[]" : 'JSON.parse(require("node:fs").readFileSync(names))'};
    let next = ${first};
    await Promise.all(Array.from({ length: ${lanes} }, async () => {
      for (let index = next++; index < ${last}; index = next++) {
        const { statusCode, body } = await agent.request({
          origin: ${JSON.stringify(origin)}, path: "/v1/datasets/tags", method: "${method}",
          headers: { authorization: ${JSON.stringify(`Bearer ${address.key}`)}, "content-type": "application/json" },
          body: JSON.stringify(${bodyOf}),
        });
        const answer = await body.json();
        if (statusCode !== 200) throw new Error(JSON.stringify(answer));
        ids[index] = answer.id;
      }
    }));
    require("node:fs").writeFileSync(names, JSON.stringify(ids));`;
  await measured(["-e", loop(lanesOver("POST", '{ name: "tag " + index }'))], clean);
  const ids = JSON.parse(readFileSync(join(folder, "tags.json"), "utf8"));
  const file = join(folder, "renames.csv");
  writeFileSync(file, `tag,name\n${ids.map((id, index) => `${id},renamed ${index}\n`).join("")}`);
  // Half of the bare loop before and half after, as speed drifts.
  const renames = (first, last) =>
    measured(
      [
        "-e",
        loop(lanesOver("PATCH", '{ tag_id: ids[index], name: "bare " + index }', first, last)),
      ],
      clean,
    );
  const before = await renames(0, count / 2);
  const each = await measured(
    [kb, "tag", "rename", "--each", file, "--concurrency", String(lanes), "-q"],
    {
      ...clean,
      KB_CONFIG_DIR: join(folder, "none"),
      KB_STATE_DIR: join(folder, "state"),
      KB_BASE_URL: address.base_url,
      KB_KEY: address.key,
    },
  );
  const bare = before.seconds + (await renames(count / 2, count)).seconds;
  child.kill("SIGTERM");
  const rate = (seconds) => (count / seconds).toFixed(0);
  const ratio = (100 * bare) / each.seconds;
  console.log(
    `\n${count} renames, ${lanes} at a time: bare loop ${rate(bare)}/s, kb tag rename --each ${rate(each.seconds)}/s: ${ratio.toFixed(0)} % (≥ 80)${ratio < 80 ? "  under" : ""}`,
  );
}

function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

function text(value, digits, unit) {
  return typeof value === "number" ? `${value.toFixed(digits)}${unit}` : (value ?? "");
}
