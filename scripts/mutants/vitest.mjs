import { relative } from "node:path";
import config from "../../vitest.config.mjs";
import { root } from "../prepare.mjs";
import { runProjects } from "../run-projects.mjs";

const [{ plugins, test: quick }] = config.test.projects;

/** The input of a script, as JSON. */
export async function readInput() {
  let input = "";
  for await (const part of process.stdin.setEncoding("utf8")) input += part;
  return JSON.parse(input);
}

/** Runs quick tests with the code that `transform` changes, as `runProjects` does. */
export function runQuick({ transform, test, workers, untilFailure }) {
  const project = {
    plugins: [{ name: "mutants", enforce: "pre", transform }, ...plugins],
    root,
    test: { ...quick, ...test, setupFiles: [...quick.setupFiles, ...(test.setupFiles ?? [])] },
  };
  return runProjects([project], { workers, untilFailure });
}

/** The path of a test file from the root. */
export const pathOf = (module) => relative(root, module.moduleId).replaceAll("\\", "/");
