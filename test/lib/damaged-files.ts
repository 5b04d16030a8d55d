import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { runs, seeded } from "./following.ts";
import { recordedFile } from "./recorded-file.ts";
import { cli, temporaryFolder } from "./support.ts";

/** Values that no server would send in their place. */
const odd = [
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

/** Damages a text in a few places: bytes, values of fields, lines that change places or go. */
function damaged(text: string, random: () => number): string {
  const pick = <T>(items: readonly T[]): T | undefined =>
    items[Math.floor(random() * items.length)];
  let made = text;
  for (let count = 1 + Math.floor(random() * 4); count > 0; count--) {
    const at = Math.floor(random() * made.length);
    const kind = Math.floor(random() * 5);
    if (kind === 0)
      made = made.slice(0, at) + String.fromCharCode(random() * 300) + made.slice(at + 1);
    if (kind === 1) made = made.slice(0, at) + made.slice(at + random() * 200);
    if (kind === 2) {
      const fields = [...made.matchAll(/"\w+":("[^"]*"|[\d.]+|null|\{\}|\[\])/g)];
      const field = pick(fields);
      if (field) {
        const [whole] = field;
        const changed = `${whole.slice(0, whole.indexOf(":") + 1)}${pick(odd)}`;
        made = made.slice(0, field.index) + changed + made.slice(field.index + whole.length);
      }
    }
    if (kind > 2) {
      const lines = made.split("\n");
      const [line = ""] = lines.splice(Math.floor(random() * lines.length), 1);
      if (kind === 3) lines.splice(Math.floor(random() * lines.length), 0, line);
      made = lines.join("\n");
    }
  }
  return made;
}

/** What each command may end with: never 1, which would be a bug. */
const ends: Readonly<Record<string, readonly number[]>> = {
  replay: [0, 2, 8, 9, 13],
  timeline: [0, 2, 6],
  diff: [0, 2],
};

/** Reads so many damaged recordings with every command that takes one. */
export async function readsAnything(count: number, seed: number): Promise<void> {
  const home = await temporaryFolder();
  const random = seeded(seed);
  const whole = join(home, "whole.jsonl");
  const broken = join(home, "broken.jsonl");
  for (let turn = 0; turn < count; turn++) {
    const [title = ""] = runs[turn % runs.length] ?? [];
    await recordedFile(whole, title, { end: '{"end":{"exit":0,"why":"succeeded"}}\n' });
    const text = damaged(await readFile(whole, "utf8"), random);
    await writeFile(broken, text);
    const lines = [
      ["replay", broken],
      ["timeline", broken, "-o", turn % 2 === 0 ? "svg" : "json"],
      ["timeline", broken],
      ["diff", whole, broken],
    ];
    for (const [command = "", ...rest] of lines) {
      const ran = await cli(["wf", command, ...rest]);
      expect(ends[command], `${ran.err}\n${text}`).toContain(ran.exit);
    }
  }
}
