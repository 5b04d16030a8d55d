import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import { replacedModules } from "./scripts/replaced.mjs";

const shared = {
  environment: "node",
  setupFiles: ["test/lib/cleanup-setup.ts", "test/lib/replaced-setup.ts"],
  server: { deps: { inline: ["conf", "atomically"] } }, // for the plugin
  // Only what hangs meets the limits: tests do not fail on a slow or busy machine.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  css: true, // otherwise the style of pages is empty
  // Most code runs a few times only, so that collecting garbage and optimizing machine code at the
  // defaults of V8 would take a fifth of the processor time.
  execArgv: ["--max-semi-space-size=32", "--interrupt-budget=1000000"],
};

/** Quick tests with tables of which they run a part: the long tests run them with all rows. */
const withTables = readdirSync(new URL("test", import.meta.url), { recursive: true })
  .map((name) => `test/${name.replaceAll("\\", "/")}`)
  .filter((path) => path.endsWith(".test.ts"))
  .filter((path) =>
    readFileSync(new URL(path, import.meta.url), "utf8").includes("/lib/sampled.ts"),
  );

/**
 * Tests of what a command meets once in thousands of runs (kills at any step, full disks, odd terminals), of
 * whole dialogs on terminals, and of the package. They take a third of the processor time of all tests, so only
 * the long tests run them.
 */
const rare = [
  "test/commands/kb/{backup,snapshot,sync}-kills.test.ts",
  "test/commands/kb/{moved,sync}-hard.test.ts",
  "test/output/hard-*.test.ts",
  "test/process/{children,connections,hard-system,hostile-names,zombies}.test.ts",
  "test/process/{profile-store,progress,prompts-process,top-process}.test.ts",
  "test/process/{questions,rename,suite}-kill*.test.ts",
  "test/project/{package,recipes}.test.ts",
];

/** Small files that take long. They begin first, so that none of them runs alone at the end. */
const slow = /simulator\/|process\/|kills|cli\/examples|project\/(package|readme)|mutated/;

/** The largest files first, after the slow ones. */
class SlowFirst extends BaseSequencer {
  async sort(files) {
    const isSlow = ({ moduleId }) => Number(slow.test(moduleId));
    return (await super.sort(files)).toSorted((one, other) => isSlow(other) - isSlow(one));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    // Two more than cores: much of the time is spent waiting for programs that run beside.
    maxWorkers: availableParallelism() + 2,
    projects: [
      {
        plugins: [replacedModules()],
        test: {
          ...shared,
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: ["test/long/**", ...rare],
          isolate: false, // the files of a worker share what they import
        },
      },
      {
        plugins: [replacedModules()],
        test: {
          ...shared,
          name: "long",
          include: ["test/long/*.test.ts", ...withTables, ...rare],
          env: { TEST_ROWS: "all" },
          testTimeout: 3_600_000,
          hookTimeout: 3_600_000,
        },
      },
    ],
  },
});
