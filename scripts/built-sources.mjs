// Runs TypeScript of the project at build time.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { root } from "./prepare.mjs";
import { rawText } from "./raw-text.mjs";

/** Imports modules of scripts by their paths without extension, and returns what each exports. */
export async function imported(...names) {
  // Inside node_modules, so that the build resolves the packages they import.
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "kb-wf-sources-"));
  // Modules that they load on demand must be there until the end.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outputs = names.map((name) => name.replace("../", ""));
  await build({
    input: Object.fromEntries(
      names.map((name, index) => [outputs[index], join(root, "scripts", `${name}.ts`)]),
    ),
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    plugins: [rawText],
    logLevel: "silent",
    output: { dir: folder, format: "esm" },
  });
  return Promise.all(outputs.map((name) => import(pathToFileURL(join(folder, `${name}.js`)).href)));
}
