// Runs test files with one mutant until a test fails, and prints its name.
import { join } from "node:path";
import { root } from "../prepare.mjs";
import { mutated } from "./find.mjs";
import { pathOf, readInput, runQuick } from "./vitest.mjs";

const { mutant, tests } = await readInput();
const file = join(root, "src", mutant.file);
const { testModules: modules, unhandledErrors } = await runQuick({
  transform: (code, path) => (path.split("?")[0] === file ? mutated(mutant, code) : null),
  test: { include: tests, exclude: [], env: { TEST_ROWS: "all" } },
  untilFailure: true,
  workers: 1,
});
const errors = modules.flatMap((module) => module.errors().map(() => pathOf(module)));
const failed = modules.flatMap((module) =>
  [...module.children.allTests()]
    .filter((test) => test.result().state === "failed")
    .map(({ fullName }) => `${pathOf(module)}: ${fullName}`),
);
// A mutant that uses up all memory ends the worker.
const [first] = [...failed, ...errors, ...unhandledErrors.map(String)];
process.stdout.write(`\n${JSON.stringify({ failed: first })}\n`, () => process.exit(0));
