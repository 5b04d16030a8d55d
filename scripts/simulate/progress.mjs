// What was played so far, in a file that git ignores: the next run continues behind it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../prepare.mjs";

const path = join(root, ".simulate.json");

const read = () => {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
};

/** The first seed that was not played, and the cases that failed. */
export const progressOf = (scenario) => read()[scenario] ?? { next: 1, failures: [] };

export function saveProgress(scenario, progress) {
  writeFileSync(path, `${JSON.stringify({ ...read(), [scenario]: progress }, null, 2)}\n`);
}
