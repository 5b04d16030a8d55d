// Syncing a directory and exporting a knowledge base: requests, documents per second, memory.
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { base, servingDocuments } from "./knowledge-server.mjs";
import { clean, compared, folder, kb, loop, measured, openSandbox, result } from "./tools.mjs";

/** Measures a sync and an export of 10,000 documents. */
export async function knowledge() {
  const count = 10_000;
  const concurrency = 3;
  const directory = join(folder, "docs");
  for (let part = 0; part < 100; part++) {
    mkdirSync(join(directory, String(part)), { recursive: true });
    for (let index = 0; index < count / 100; index++)
      writeFileSync(
        join(directory, String(part), `${index}.md`),
        `Page ${part} ${index}. `.repeat(60),
      );
  }
  await firstSync(concurrency);

  const server = await servingDocuments();
  const env = { ...clean, KB_BASE_URL: `${server.origin}/v1`, KB_KEY: "dataset-bench" };
  const sync = [kb, "sync", base, directory, "--concurrency", String(concurrency), "-q"];
  await measured(sync, env);
  await server.counted();
  const second = await measured(sync, env);
  const again = await server.counted();
  const own = second.seconds - again.busy / 1000;
  const title = `kb sync of ${count} unchanged files`;
  result(`${title}, lists`, again.lists, "requests", { atMost: 100 });
  result("  writes", again.writes, "requests", { atMost: 0 });
  result("  beyond the server's own time", own, "s", { atMost: 3 });
  result("  memory", second.megabytes, "MB", { atMost: 150 });

  const exported = await measured(
    [kb, "export", base, join(folder, "backup"), "--no-chunks", "-q"],
    env,
  );
  const asked = await server.counted();
  const each = (100 * (asked.zips + asked.other)) / count;
  const exportTitle = `kb export --no-chunks of ${count}, requests beside lists`;
  result(exportTitle, each, "for 100", { atMost: 1.1 });
  result("  documents", count / exported.seconds, "per second");
  result("  memory", exported.megabytes, "MB");
  server.stop();

  const shards = await servingDocuments();
  const shardEnv = { ...env, KB_BASE_URL: `${shards.origin}/v1` };
  await measured(sync, shardEnv);
  await shards.counted();
  for (let index = 1; index <= 8; index++)
    await measured([...sync, "--shard", `${index}/8`], shardEnv);
  const all = await shards.counted();
  const worth = all.lists / again.lists;
  result("eight shards, unchanged, complete lists read", worth, "lists", {
    atMost: 16,
  });
  result("  writes", all.writes, "requests", { atMost: 0 });
  shards.stop();

  const block = Buffer.alloc(64 * 1024 * 1024, 7);
  const start = performance.now();
  createHash("sha256").update(block).digest("hex");
  const speed = 64 / ((performance.now() - start) / 1000);
  result("SHA-256", speed, "MB/s", { atLeast: 400 });
}

/**
 * Syncs new files to the sandbox, which does the work of a server: against a server that responds at
 * once, only the overhead of a bare loop would be measured.
 */
async function firstSync(lanes) {
  const { address, env, stop } = await openSandbox();
  const headers = { authorization: `Bearer ${address.key}`, "content-type": "application/json" };
  const directory = join(folder, "new");
  const count = 3000;
  for (let index = 0; index < count; index++) {
    mkdirSync(join(directory, String(index % 30)), { recursive: true });
    writeFileSync(join(directory, String(index % 30), `${index}.md`), `Page ${index}. `.repeat(60));
  }
  const made = async () => {
    const body = JSON.stringify({ name: randomUUID(), indexing_technique: "economy" });
    const answer = await fetch(`${address.base_url}/datasets`, { method: "POST", headers, body });
    return (await answer.json()).id;
  };
  // Sends the requests of a sync: an upload for each file, and marks for fifty documents at a time; a
  // sync that waits marks them as pending first, and polls the list until all are indexed.
  const bareLoop = (id, waits) =>
    loop(`
      const { readdirSync, readFileSync } = require("node:fs");
      const { createHash } = require("node:crypto");
      const call = async (method, path, body) => {
        const response = await agent.request({
          origin: ${JSON.stringify(new URL(address.base_url).origin)}, path: "/v1/datasets/${id}" + path, method,
          headers: ${JSON.stringify(headers)}, ...(body && { body: JSON.stringify(body) }),
        });
        return response.body.json();
      };
      const inLanes = async (items, send) => {
        let next = 0;
        await Promise.all(Array.from({ length: ${lanes} }, async () => {
          for (let item = items[next++]; item; item = items[next++]) await send(item);
        }));
      };
      const fields = {};
      for (const name of ["kb_path", "kb_source", "kb_hash", "kb_file"])
        fields[name] = (await call("POST", "/metadata", { name, type: "string" })).id;
      const mark = (documents, before = "") => call("POST", "/documents/metadata", {
        operation_data: documents.map(({ id, path, hash }) => ({
          document_id: id,
          metadata_list: Object.entries({ kb_path: path, kb_source: ".", kb_hash: before + hash, kb_file: id })
            .map(([name, value]) => ({ id: fields[name], name, value })),
          partial_update: true,
        })),
      });
      const folder = ${JSON.stringify(`${directory}/`)};
      const documents = [];
      let marked = 0;
      await inLanes(readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".md")), async (path) => {
        const text = readFileSync(folder + path, "utf8");
        const { document } = await call("POST", "/document/create-by-text", { name: path, text, indexing_technique: "economy" });
        documents.push({ id: document.id, path, hash: createHash("sha256").update(text).digest("hex") });
        if (${waits} && documents.length - marked >= 50) await mark(documents.slice(marked, (marked += 50)), "pending:");
      });
      for (let open = ${waits}; open;) {
        open = false;
        for (let page = 1, more = true; more; page++) {
          const { data, has_more } = await call("GET", "/documents?limit=100&page=" + page);
          open ||= data.some((each) => each.indexing_status !== "completed");
          more = has_more;
        }
      }
      const batches = Array.from({ length: documents.length / 50 }, (_, at) => documents.slice(50 * at, 50 * at + 50));
      await inLanes(batches, (batch) => mark(batch));`);
  for (const [flags, title] of [
    [["--no-wait"], `kb sync --no-wait of ${count} new files`],
    [[], `kb sync of ${count} new files`],
  ])
    await compared({
      count,
      unit: "per second",
      bare: async () => measured(["-e", bareLoop(await made(), flags.length === 0)]),
      ours: async () => measured([kb, "sync", await made(), directory, ...flags, "-q"], env),
      name: title,
      limit: { atLeast: 95 },
    });
  await stop();
  rmSync(directory, { recursive: true });
}
