// Writes docs/reference.md and pages of the skill from the commands of both programs and the keys of a suite, and the
// JSON Schema of a suite. The manual pages come with the build.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { imported } from "./built-sources.mjs";
import { prepare, root, tool } from "./prepare.mjs";

prepare();

const [markdown, skill, llms, suites, library] = await imported(
  ...["markdown", "skill", "llms", "suites", "library"].map((name) => `reference/${name}`),
);
const docs = join(root, "docs");
writeFileSync(join(docs, "reference.md"), await markdown.referencePage());
const references = join(root, "src", "commands", "assistants", "skill", "references");
for (const [name, text] of await skill.skillPages()) writeFileSync(join(references, name), text);
writeFileSync(join(docs, "llms.txt"), llms.llmsPage(root));
writeFileSync(join(root, "examples", "suite.schema.json"), suites.schemaFile());
const types = join(root, "types", "operations.d.ts");
writeFileSync(types, library.operationTypes());
spawnSync(tool("oxfmt"), [types], { shell: process.platform === "win32" });
