// The same jobs done by kb, by curl, by a plain script with fetch and by the package dify-client.
// Medians of interleaved runs; each figure is a ratio to the script with fetch.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { clean, folder, kb, median, openSandbox, result, serving, timed } from "./tools.mjs";

const rounds = 7;
const difyClient = "dify-client@2.3.2";

/** Names of the clients in the order of the table. */
const names = { fetch: "a script with fetch", curl: "curl", difyClient, kb: "kb" };

export async function clients() {
  const loaded = installDifyClient();
  if (!loaded) console.log(`${difyClient} could not be installed: measured without it`);
  const listServer = fileURLToPath(new URL("lists.mjs", import.meta.url));
  const served = await serving(listServer, 10_000);
  const base = `${served.origin}/v1`;
  const env = { ...clean, KB_BASE_URL: base, KB_KEY: "dataset-sandbox" };
  await compare("one page of a list", loaded, {
    fetch: script(`await (await fetch("${base}/datasets?page=1&limit=20")).json();`),
    curl: { program: "curl", args: ["-sf", `${base}/datasets?page=1&limit=20`] },
    difyClient: script(
      `const client = new DifyClient("dataset-sandbox", "${base}");
       await client.sendRequest("GET", "/datasets", null, { page: 1, limit: 20 });`,
      loaded,
    ),
    kb: { args: [kb, "list"], env },
  });
  await compare("a list of 10000 rows, 100 a page", loaded, {
    fetch: script(
      `${pages}
       await read(async (page) => (await fetch("${base}/datasets?page=" + page + "&limit=100")).json());`,
    ),
    curl: {
      program: "curl",
      args: ["-sf", "-o", join(folder, "page#1"), `${base}/datasets?page=[1-100]&limit=100`],
    },
    difyClient: script(
      `${pages}
       const client = new DifyClient("dataset-sandbox", "${base}");
       await read(async (page) => (await client.sendRequest("GET", "/datasets", null, { page, limit: 100 })).data);`,
      loaded,
    ),
    kb: { args: [kb, "list", "--all", "-o", "jsonl"], env },
  });
  served.stop();
  await documents(loaded);
}

/** Adds 300 files to a new knowledge base of the sandbox, then the same files once more. */
async function documents(loaded) {
  const directory = join(folder, "files");
  mkdirSync(directory);
  for (let index = 0; index < 300; index++)
    writeFileSync(join(directory, `${index}.md`), `Page ${index}. `.repeat(60));
  const { address, env, stop } = await openSandbox();
  const headers = { authorization: `Bearer ${address.key}`, "content-type": "application/json" };
  const create = async (name) => {
    const body = JSON.stringify({ name, indexing_technique: "economy" });
    const response = await fetch(`${address.base_url}/datasets`, { method: "POST", headers, body });
    return (await response.json()).id;
  };
  const each = (send) => `
    const { readdirSync, readFileSync } = require("node:fs");
    ${send}
    for (const name of readdirSync(${JSON.stringify(directory)})) {
      const text = readFileSync(${JSON.stringify(`${directory}/`)} + name, "utf8");
      await send({ name, text, indexing_technique: "economy" });
    }`;
  const jobs = async (round) => {
    const path = async (client) =>
      `/datasets/${await create(`${client} ${round}`)}/document/create-by-text`;
    const url = async (client) => address.base_url + (await path(client));
    const [byFetch, byCurl] = [await url("fetch"), await url("curl")];
    return {
      fetch: script(
        each(`async function send(document) {
          const response = await fetch("${byFetch}", { method: "POST", headers: ${JSON.stringify(headers)}, body: JSON.stringify(document) });
          await response.json();
        }`),
      ),
      curl: { program: "sh", args: ["-c", curlEach(directory, byCurl, address.key)] },
      difyClient: script(
        each(`const client = new DifyClient("${address.key}", "${address.base_url}");
        async function send(document) {
          await client.sendRequest("POST", "${await path("dify-client")}", document);
        }`),
        loaded,
      ),
      kb: { args: [kb, "sync", await create(`kb ${round}`), directory, "--no-wait", "-q"], env },
    };
  };
  const first = timesOf(names);
  const again = timesOf(names);
  for (let round = 0; round < 3; round++) {
    const all = await jobs(round);
    for (const times of [first, again]) await measure(all, loaded, times);
  }
  await stop();
  report("300 new documents", first);
  report("the same 300 once more (only kb notices)", again);
}

/** A line for sh that adds each file with a curl of its own. */
const curlEach = (directory, url, key) => `
  for file in "${directory}"/*.md; do
    printf '{"name":"%s","text":"%s","indexing_technique":"economy"}' "\${file##*/}" "$(cat "$file")" |
      curl -sf -o "${join(folder, "answer")}" -H "authorization: Bearer ${key}" -H "content-type: application/json" --data-binary @- "${url}" || exit 1
  done`;

/** Reads all pages and writes their rows. */
const pages = `async function read(get) {
  for (let page = 1, more = true; more; page++) {
    const { data, has_more } = await get(page);
    for (const row of data) process.stdout.write(JSON.stringify(row) + "\\n");
    more = has_more;
  }
}`;

/** A program for node; \`loaded\` is the address of the package that it imports. */
function script(lines, loaded) {
  const body = `(async () => { ${loaded ? `const { DifyClient } = await import("${loaded}");` : ""} ${lines} })();`;
  return { args: ["-e", body] };
}

/** Installs the package in a directory of its own: the project does not depend on it. */
function installDifyClient() {
  const directory = join(folder, "clients");
  mkdirSync(directory);
  writeFileSync(join(directory, "package.json"), '{"private":true}\n');
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", difyClient];
  const shell = process.platform === "win32";
  const { status } = spawnSync("npm", args, { cwd: directory, stdio: "ignore", shell });
  const path = join(directory, "node_modules", "dify-client", "index.js");
  return status === 0 ? pathToFileURL(path).href : undefined;
}

const timesOf = (clients) => Object.fromEntries(Object.keys(clients).map((name) => [name, []]));

/** Runs the job with each client once. */
async function measure(jobs, loaded, times) {
  for (const [name, job] of Object.entries(jobs)) {
    if (name === "difyClient" && !loaded) continue;
    times[name].push(await timed({ env: clean, ...job }));
  }
}

async function compare(job, loaded, jobs) {
  const times = timesOf(names);
  await measure(jobs, loaded, timesOf(names)); // warms the file cache
  for (let round = 0; round < rounds; round++) await measure(jobs, loaded, times);
  report(job, times);
}

function report(job, times) {
  const base = median(times.fetch);
  result(`${job}: ${names.fetch}`, base, "ms");
  for (const name of ["curl", "difyClient", "kb"])
    if (times[name].length > 0) result(`  ${names[name]}`, median(times[name]) / base, "× fetch");
}
