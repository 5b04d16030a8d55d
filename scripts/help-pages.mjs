// A rolldown plugin that writes the help pages beside the bundle, so that --help need not make them.
import { imported } from "./built-sources.mjs";

/** Adds `help-kb.txt` and `help-wf.txt` to the output. */
export const helpPages = {
  name: "help-pages",
  async generateBundle() {
    const [{ helpPages: pagesOf }] = await imported("help-pages");
    for (const program of ["kb", "wf"]) {
      const fileName = `help-${program}.txt`;
      this.emitFile({ type: "asset", fileName, source: await pagesOf(program) });
    }
  },
};
