import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

const suffix = "?raw";

/** Plugin for `import text from "./page.md?raw"`, the text of a file; vitest has the same built in. */
export const rawText = {
  name: "raw-text",
  resolveId: (id, importer) =>
    id.endsWith(suffix) && importer ? resolve(dirname(importer), id) : null,
  load: (id) =>
    id.endsWith(suffix)
      ? {
          code: `export default ${JSON.stringify(readFileSync(id.slice(0, -suffix.length), "utf8"))};`,
          moduleType: "js",
        }
      : null,
};
