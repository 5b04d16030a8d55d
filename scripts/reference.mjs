// Writes docs/reference.md and the manual pages from the commands of both programs.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { prepare, root } from "./prepare.mjs";
import { rawText } from "./raw-text.mjs";

prepare();

// Inside node_modules, so that the build resolves the packages it imports.
const cache = join(root, "node_modules", ".cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "kb-wf-reference-"));
try {
  await build({
    input: {
      markdown: join(root, "scripts", "reference", "markdown.ts"),
      man: join(root, "scripts", "reference", "man.ts"),
    },
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    plugins: [rawText],
    logLevel: "silent",
    output: { dir: folder, format: "esm" },
  });
  const built = (name) => import(pathToFileURL(join(folder, `${name}.js`)).href);
  const { referencePage } = await built("markdown");
  const { manPage } = await built("man");
  const docs = join(root, "docs");
  mkdirSync(join(docs, "man"), { recursive: true });
  writeFileSync(join(docs, "reference.md"), await referencePage());
  for (const program of ["kb", "wf"]) {
    writeFileSync(join(docs, "man", `${program}.1`), await manPage(program));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
