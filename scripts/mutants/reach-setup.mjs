// Runs before each test file: notes the mutants that it reaches.
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect } from "vitest";

const reached = new Set();
globalThis.mutantReached = (number) => reached.add(number);

afterAll(() => {
  const test = relative(process.cwd(), expect.getState().testPath).replaceAll("\\", "/");
  const line = JSON.stringify({ test, numbers: [...reached] });
  appendFileSync(process.env.MUTANTS_REACHED, `${line}\n`);
});
