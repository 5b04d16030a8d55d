// Writes docs/reference.md, the manual pages and pages of the skill from the commands of both programs,
// the list of manual pages in package.json, and the keys of a suite: the table in docs/test-suites.md and
// the JSON Schema.
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
      skill: join(root, "scripts", "reference", "skill.ts"),
      llms: join(root, "scripts", "reference", "llms.ts"),
      suites: join(root, "scripts", "reference", "suites.ts"),
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
  const { skillPages } = await built("skill");
  const references = join(root, "src", "commands", "shared", "skill", "references");
  for (const [name, text] of await skillPages()) writeFileSync(join(references, name), text);
  const { llmsPage } = await built("llms");
  writeFileSync(join(docs, "llms.txt"), llmsPage(root));
  const { schemaFile, withSuiteKeys } = await built("suites");
  const suites = join(docs, "test-suites.md");
  writeFileSync(suites, withSuiteKeys(readFileSync(suites, "utf8")));
  writeFileSync(join(root, "examples", "suite.schema.json"), schemaFile());
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
