import { readRowFile, unreadable } from "../../../lib/formats/rows-file.ts";
import type { Context } from "../../task/command-spec.ts";
import { pathProblem } from "./paths.ts";
import { pathFilter } from "./walk.ts";
import type { Source, SourceEntry, SourceObject } from "./source.ts";
import { isNumeric } from "../../../lib/exact-number.ts";

/** A collection as BEIR has it: JSON Lines with `_id`, `title` and `text`, each a document with the path `_id`. */
export function corpusSource(file: string, { host: { files } }: Context): Source {
  const contents = new Map<string, Uint8Array>();
  return {
    async list(filter) {
      const isKept = await pathFilter(filter);
      const { rows } = await readRowFile(file, await files.read(file));
      const entries = rows.map(({ values, line }): SourceEntry => {
        const { _id: id, title, text } = values;
        const place = `${file} line ${line}`;
        if ((typeof id !== "string" && !isNumeric(id)) || typeof text !== "string")
          throw unreadable(
            place,
            "a document has _id and text",
            "BEIR's corpus.jsonl is an example",
          );
        const path = `${id}.md`;
        const problem = pathProblem(path);
        if (problem) throw unreadable(place, `invalid _id ${JSON.stringify(id)}: ${problem}`);
        if (contents.has(path)) throw unreadable(place, `a second document with the _id ${id}`);
        const heading = typeof title === "string" && title !== "" ? `# ${title}\n\n` : "";
        const bytes = new TextEncoder().encode(`${heading}${text}\n`);
        contents.set(path, bytes);
        if (!isKept(path)) return { kind: "excluded", path };
        return { kind: "file", path, size: bytes.length };
      });
      return { entries };
    },
    get: ({ path }: SourceObject) =>
      Promise.resolve({ bytes: contents.get(path) ?? new Uint8Array() }),
  };
}
