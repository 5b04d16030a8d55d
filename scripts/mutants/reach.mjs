// Runs the quick tests and notes which of them reach which mutants, one line per test file.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { root } from "../prepare.mjs";
import { watched } from "./find.mjs";
import { pathOf, readInput, runQuick } from "./vitest.mjs";

const { mutants, found } = await readInput();
const pairs = mutants.map((mutant, number) => [number, mutant]);
const { testModules: modules } = await runQuick({
  transform(code, path) {
    const file = path.split("?")[0];
    const own = pairs.filter(([, mutant]) => join(root, "src", mutant.file) === file);
    return own.length > 0 ? watched(own, code) : null;
  },
  test: {
    setupFiles: ["scripts/mutants/reach-setup.mjs"],
    env: { MUTANTS_REACHED: found },
    // These start programs, whose code has no mutants.
    exclude: ["test/{long,planted,process,project,simulator}/**"],
  },
  workers: availableParallelism() + 2,
});
const failed = modules.filter((module) => module.state() === "failed").map(pathOf);
const durations = Object.fromEntries(
  modules.map((module) => [pathOf(module), module.diagnostic().duration]),
);
process.stdout.write(`\n${JSON.stringify({ durations, failed })}\n`, () => process.exit(0));
