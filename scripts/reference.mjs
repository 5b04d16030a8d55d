// Writes docs/reference.md and the manual pages from the commands of both programs, and their list in
// package.json.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const { manPages } = await built("man");
  const docs = join(root, "docs");
  const manuals = join(docs, "man");
  rmSync(manuals, { recursive: true, force: true }); // pages of removed commands
  mkdirSync(manuals, { recursive: true });
  writeFileSync(join(docs, "reference.md"), await referencePage());
  const pages = await manPages();
  for (const [name, text] of pages) writeFileSync(join(manuals, name), text);
  listManuals([...pages.keys()].sort());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Lists the pages in package.json: npm installs no page that it does not name. */
function listManuals(names) {
  const path = join(root, "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  manifest.man = names.map((name) => `docs/man/${name}`);
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}
