import { createVitest } from "vitest/node";
import { root } from "./prepare.mjs";

/**
 * Runs the test files of projects, each as `select` returns it, until a test fails with `untilFailure`; resolves with
 * what vitest knows of them, and with the errors outside of tests: a worker that ran out of memory reports no test. (With
 * vitest's option `bail` a worker can end before it has told which test failed.)
 */
export async function runProjects(
  projects,
  { workers, untilFailure = false, select = (file) => file },
) {
  const stopAtFailure = (test) => {
    // Without waiting: it resolves after the run, which waits for its reporters.
    if (test.result().state === "failed") void vitest.cancelCurrentRun("test-failure");
  };
  const vitest = await createVitest("test", {
    config: false,
    root,
    watch: false,
    projects,
    reporters: [untilFailure ? { onTestCaseResult: stopAtFailure } : {}],
    maxWorkers: workers,
  });
  try {
    await vitest.standalone();
    const files = await vitest.globTestSpecifications();
    return await vitest.runTestSpecifications(files.map(select));
  } finally {
    await vitest.close();
  }
}
