// Building the commands of one word and parsing a line, in a fresh process.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../prepare.mjs";
import { clean, folder, median, result } from "./tools.mjs";

export async function tree() {
  // The bundle renames the two modules, so they are bundled again under their own names.
  const entry = join(folder, "tree.mjs");
  const source = (...path) => JSON.stringify(join(root, "src", ...path));
  // The rows are loaded before the clock starts; only building the tree is measured.
  writeFileSync(
    entry,
    `export { commandsOf } from ${source("cli", "parse", "command-list.ts")};
     export { parseLine } from ${source("cli", "parse", "parser.ts")};
     export { operations } from ${source("operations", "index.ts")};
     export { kb } from ${source("commands", "kb.ts")};`,
  );
  const { rolldown } = await import("rolldown");
  const { default: configs } = await import("../../rolldown.config.mjs");
  const config = configs.find(({ input }) => input.main);
  const { codeSplitting: _, ...output } = config.output;
  const bundle = await rolldown({
    input: { tree: entry },
    platform: "node",
    logLevel: "silent",
    cwd: root,
    // The packages whose modules are replaced are not in it.
    plugins: config.plugins.filter(({ name }) => name !== "replaced-modules"),
  });
  await bundle.write({ ...output, dir: join(folder, "tree"), codeSplitting: false });
  const program = `
    const { commandsOf, parseLine } = require(${JSON.stringify(join(folder, "tree", "tree.cjs"))});
    const start = performance.now();
    commandsOf("kb", "doc").then((commands) => {
      parseLine(["kb", "doc", "add", "Handbook", "a.md", "--text", "x"], commands);
      console.log(performance.now() - start);
    });`;
  const times = [];
  for (let round = 0; round < 11; round++) {
    const { stdout, status } = spawnSync(process.execPath, ["-e", program], { env: clean });
    if (status !== 0) throw new Error("the commands could not be made");
    times.push(Number(stdout));
  }
  result("commands of one word and a line parsed, cold", median(times), "ms", { atMost: 10 });
}
