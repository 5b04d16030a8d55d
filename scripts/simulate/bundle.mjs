// Bundles the simulator into one file: what a program imports is then there at once, in the same order
// in every run.
import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { build } from "rolldown";
import { root } from "../prepare.mjs";
import { rawText } from "../raw-text.mjs";

/** Replaces a text that must be there once. */
function replaceOnce(code, { file, from, to }) {
  const parts = code.split(from);
  if (parts.length !== 2) throw new Error(`${file}: expected once: ${from}`);
  return parts.join(to);
}

/** Plugin that changes a source file as a guard says. */
const withoutGuard = (guard) => ({
  name: "without-guard",
  load: (id) =>
    id === join(root, guard.file)
      ? { code: replaceOnce(readFileSync(id, "utf8"), guard), moduleType: "ts" }
      : null,
});

const simulator = {
  simulator: join(root, "test", "simulator", "main.ts"),
  "site-worker": join(root, "src/commands/kb/sources/site-worker.mjs"), // runs in a thread
};

/** Builds files into a directory, without a guard if one is given; returns the first one, which is to be run. */
export async function bundle(directory, guard, inputs = simulator) {
  const options = {
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    plugins: [rawText, ...(guard ? [withoutGuard(guard)] : [])],
    logLevel: "silent",
    output: {
      dir: directory,
      format: "cjs",
      entryFileNames: "[name].cjs",
      codeSplitting: false,
      dynamicImportInCjs: false,
    },
  };
  for (const [name, path] of Object.entries(inputs))
    await build({ ...options, input: { [name]: path } });
  return join(directory, `${Object.keys(inputs)[0]}.cjs`);
}
