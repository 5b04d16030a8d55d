// Commands that read or write every document of a large knowledge base: time and memory of 5,000 and of 20,000.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { base, servingDocuments } from "./knowledge-server.mjs";
import { clean, folder, grown, kb, measured } from "./tools.mjs";

const sizes = [5000, 20_000];

/** Writes as many texts of 1 KB in directories of a hundred. */
function writeTexts(directory, count) {
  for (let index = 0; index < count; index++) {
    const part = join(directory, String(Math.floor(index / 100)));
    if (index % 100 === 0) mkdirSync(part, { recursive: true });
    writeFileSync(join(part, `${index}.md`), `Page ${index}. `.repeat(80));
  }
}

export async function documents() {
  const places = new Map();
  for (const size of sizes) {
    const texts = join(folder, `texts-${size}`);
    writeTexts(texts, size);
    const { origin, stop } = await servingDocuments();
    const env = { ...clean, KB_BASE_URL: `${origin}/v1`, KB_KEY: "dataset-bench" };
    places.set(size, { texts, env, stop });
  }
  const load = (name, argv, { rounds, target } = {}) =>
    grown({
      name,
      unit: "document",
      sizes,
      rounds,
      async run(size) {
        const { texts, env } = places.get(size);
        const figures = await measured([kb, ...argv(texts)], env);
        if (target !== undefined) rmSync(target, { recursive: true });
        return figures;
      },
    });
  const sync = (texts) => ["sync", base, texts, "-q"];
  await load("kb sync --no-wait, new", (texts) => [...sync(texts), "--no-wait"], { rounds: 1 });
  await load("kb sync, unchanged", sync);
  await load("kb doc list --all -o jsonl", () => ["doc", "list", base, "--all", "-o", "jsonl"]);
  const condition = "kb_path ~ 7";
  await load("kb doc list --where", () => ["doc", "list", base, "--all", "--where", condition]);
  const target = join(folder, "copy");
  const once = { rounds: 1, target };
  await load("kb export", () => ["export", base, target, "-q"], once);
  await load("kb backup", () => ["backup", target, base, "-q"], once);
  await load("kb check", () => ["check", base, "-q"], { rounds: 1 });
  for (const { texts, stop } of places.values()) {
    stop();
    rmSync(texts, { recursive: true });
  }
}
