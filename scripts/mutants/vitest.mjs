import { relative } from "node:path";
import { createVitest } from "vitest/node";
import config from "../../vitest.config.mjs";
import { root } from "../prepare.mjs";

const [{ plugins, test: quick }] = config.test.projects;

/** The input of a script, as JSON. */
export async function readInput() {
  let input = "";
  for await (const part of process.stdin.setEncoding("utf8")) input += part;
  return JSON.parse(input);
}

/** Runs quick tests with the code that `transform` changes; resolves with what vitest knows of their files. */
export async function runQuick({ transform, test, workers }) {
  const vitest = await createVitest("test", {
    config: false,
    root,
    watch: false,
    projects: [
      {
        plugins: [{ name: "mutants", enforce: "pre", transform }, ...plugins],
        root,
        test: { ...quick, ...test, setupFiles: [...quick.setupFiles, ...(test.setupFiles ?? [])] },
      },
    ],
    reporters: [{}],
    maxWorkers: workers,
    bail: test.bail ?? 0,
  });
  try {
    await vitest.standalone();
    const files = await vitest.globTestSpecifications();
    return (await vitest.runTestSpecifications(files)).testModules;
  } finally {
    await vitest.close();
  }
}

/** The path of a test file from the root. */
export const pathOf = (module) => relative(root, module.moduleId).replaceAll("\\", "/");
