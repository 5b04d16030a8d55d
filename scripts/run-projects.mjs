import { createVitest } from "vitest/node";
import { root } from "./prepare.mjs";

/** Runs the test files of projects, each as `select` returns it; resolves with what vitest knows of them. */
export async function runProjects(projects, { workers, bail = 0, select = (file) => file }) {
  const vitest = await createVitest("test", {
    config: false,
    root,
    watch: false,
    projects,
    reporters: [{}],
    maxWorkers: workers,
    bail,
  });
  try {
    await vitest.standalone();
    const files = await vitest.globTestSpecifications();
    return (await vitest.runTestSpecifications(files.map(select))).testModules;
  } finally {
    await vitest.close();
  }
}
