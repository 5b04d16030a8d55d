import { omitted } from "./source.ts";
import type { SourceEntry } from "./source.ts";
import type { FileFilter } from "./walk.ts";
import { pathFilter } from "./walk.ts";

/** Why a path of a source cannot be one: it must stay in the source and be printable. */
export function pathProblem(path: string): string | undefined {
  if (path.length > 1000) return "longer than 1,000 characters";
  // oxlint-disable-next-line no-control-regex -- a source may print them
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return "it has a control character or a backslash";
  if (/\ufffd|\p{Surrogate}/u.test(path)) return "it is not valid Unicode";
  if (/^([A-Za-z]:)?\//.test(path)) return "it is not relative";
  const steps = path.replace(/\/$/, "").split("/");
  if (steps.some((step) => /^\.{0,2}$/.test(step)))
    return "it leaves the source or has an empty part";
  return undefined;
}

/** Makes the entry of a listed path: excluded, reported because no document can have the path, or what `make` gives. */
export async function entryMaker(filter: FileFilter) {
  const isKept = await pathFilter(filter);
  return (path: string, make: () => SourceEntry, isDirectory = false): SourceEntry => {
    if (!isKept(path, isDirectory)) return { kind: "excluded", path };
    const problem = pathProblem(path);
    return problem === undefined ? make() : omitted(path, `invalid path: ${problem}`);
  };
}
