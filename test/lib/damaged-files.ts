import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { runs } from "./following.ts";
import { seeded } from "./seeded.ts";
import { recordedFile } from "./recorded-file.ts";
import { cli, temporaryDirectory } from "./support.ts";

/** Unexpected values for a field. */
const oddValues = [
  "null",
  "-1",
  "1e308",
  "1e15",
  '""',
  '"x"',
  "[]",
  "{}",
  "true",
  '[{"a":[]}]',
  '"\\ud800"',
];

/** Damages a text in a few places: bytes, values of fields, and lines that move or disappear. */
function damage(text: string, random: () => number): string {
  const pick = <T>(items: readonly T[]): T | undefined =>
    items[Math.floor(random() * items.length)];
  let result = text;
  for (let count = 1 + Math.floor(random() * 4); count > 0; count--) {
    const at = Math.floor(random() * result.length);
    const kind = Math.floor(random() * 5);
    if (kind === 0)
      result = result.slice(0, at) + String.fromCharCode(random() * 300) + result.slice(at + 1);
    if (kind === 1) result = result.slice(0, at) + result.slice(at + random() * 200);
    if (kind === 2) {
      const fields = [...result.matchAll(/"\w+":("[^"]*"|[\d.]+|null|\{\}|\[\])/g)];
      const field = pick(fields);
      if (field) {
        const [whole] = field;
        const changed = `${whole.slice(0, whole.indexOf(":") + 1)}${pick(oddValues)}`;
        result = result.slice(0, field.index) + changed + result.slice(field.index + whole.length);
      }
    }
    if (kind > 2) {
      const lines = result.split("\n");
      const [line = ""] = lines.splice(Math.floor(random() * lines.length), 1);
      if (kind === 3) lines.splice(Math.floor(random() * lines.length), 0, line);
      result = lines.join("\n");
    }
  }
  return result;
}

/** Allowed exit codes; 1 would be an internal error. */
const allowedExits: Readonly<Record<string, readonly number[]>> = {
  replay: [0, 2, 8, 9, 13],
  timeline: [0, 2, 6],
  diff: [0, 2],
};

/** Reads damaged recordings with every command that takes one. */
export async function readsAnything(count: number, seed: number): Promise<void> {
  const home = await temporaryDirectory();
  const random = seeded(seed);
  const intact = join(home, "intact.jsonl");
  const broken = join(home, "broken.jsonl");
  for (let turn = 0; turn < count; turn++) {
    const [title = ""] = runs[turn % runs.length] ?? [];
    await recordedFile(intact, title, { end: '{"end":{"exit":0,"why":"succeeded"}}\n' });
    const text = damage(await readFile(intact, "utf8"), random);
    await writeFile(broken, text);
    const lines = [
      ["replay", broken],
      ["timeline", broken, "-o", turn % 2 === 0 ? "html" : "json"],
      ["timeline", broken],
      ["diff", intact, broken],
    ];
    for (const [command = "", ...rest] of lines) {
      const ran = await cli(["wf", command, ...rest]);
      expect(allowedExits[command], `${ran.err}\n${text}`).toContain(ran.exit);
    }
  }
}
