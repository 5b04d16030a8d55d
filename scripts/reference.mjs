// Writes docs/reference.md, the manual pages and pages of the skill from the commands of both programs,
// the list of manual pages in package.json, and the keys of a suite: the table in docs/test-suites.md and
// the JSON Schema.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { imported } from "./built-sources.mjs";
import { prepare, root } from "./prepare.mjs";

prepare();

const [markdown, man, skill, llms, suites] = await imported(
  "markdown",
  "man",
  "skill",
  "llms",
  "suites",
);
const docs = join(root, "docs");
const manuals = join(docs, "man");
rmSync(manuals, { recursive: true, force: true }); // pages of removed commands
mkdirSync(manuals, { recursive: true });
writeFileSync(join(docs, "reference.md"), await markdown.referencePage());
const pages = await man.manPages();
for (const [name, text] of pages) writeFileSync(join(manuals, name), text);
const references = join(root, "src", "commands", "shared", "skill", "references");
for (const [name, text] of await skill.skillPages()) writeFileSync(join(references, name), text);
writeFileSync(join(docs, "llms.txt"), llms.llmsPage(root));
const suitesPage = join(docs, "test-suites.md");
writeFileSync(suitesPage, suites.withSuiteKeys(readFileSync(suitesPage, "utf8")));
writeFileSync(join(root, "examples", "suite.schema.json"), suites.schemaFile());
listManuals([...pages.keys()].sort());

/** Lists the pages in package.json: npm installs no page that it does not name. */
function listManuals(names) {
  const path = join(root, "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  manifest.man = names.map((name) => `docs/man/${name}`);
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}
