// A rolldown plugin that writes the pages which are made from the commands: help, so that --help need not make
// them, the outlines of the commands, and the manual pages of the package.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { imported } from "./built-sources.mjs";
import { root } from "./prepare.mjs";

/** Adds `help-kb.txt`, `commands-kb.json` and those of wf to the output, and writes docs/man. */
export const builtPages = {
  name: "built-pages",
  async generateBundle() {
    const [{ helpPages }, { outlines }, { manPages }] = await imported(
      "reference/help-pages",
      "reference/outlines",
      "reference/man",
    );
    for (const program of ["kb", "wf"]) {
      const emit = (fileName, source) => this.emitFile({ type: "asset", fileName, source });
      emit(`help-${program}.txt`, await helpPages(program));
      emit(`commands-${program}.json`, await outlines(program));
    }
    const manuals = join(root, "docs", "man");
    rmSync(manuals, { recursive: true, force: true }); // pages of removed commands
    mkdirSync(manuals);
    for (const [name, text] of await manPages()) writeFileSync(join(manuals, name), text);
  },
};
