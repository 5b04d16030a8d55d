// Prints what is missing in the lists around the table of operations.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { imported } from "../built-sources.mjs";
import { root } from "../prepare.mjs";

const nouns = readdirSync(join(root, "src", "operations")).map((name) => name.slice(0, -3));
const [{ missing }, ...modules] = await imported(
  "check/table",
  ...nouns.map((noun) => `../src/operations/${noun}`),
);
const problems = await missing(
  root,
  nouns.map((noun, index) => [noun, modules[index]]),
);
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
