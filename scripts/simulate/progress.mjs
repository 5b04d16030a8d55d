// What was played of a build so far, in a file that git ignores: the next run continues behind it.
import { createHash } from "node:crypto";
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

/** Nothing played; seeds begin at `next`. */
export const nothing = (next, failures = []) => ({ next, seeds: 0, ms: 0, kinds: {}, failures });

/** The progress of scenarios with the code of one bundle. */
export class Progress {
  #build;

  constructor(bundle) {
    this.#build = createHash("sha256").update(readFileSync(bundle)).digest("hex");
  }

  /** What was played of a scenario; of another build, only its failures count. */
  of(scenario) {
    const { build, ...saved } = read()[scenario] ?? { failures: [] };
    return build === this.#build ? saved : nothing(1, saved.failures);
  }

  save(scenario, played) {
    const all = { ...read(), [scenario]: { build: this.#build, ...played } };
    writeFileSync(path, `${JSON.stringify(all, null, 2)}\n`);
  }
}
