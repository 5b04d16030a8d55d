// The planted bugs of test/planted, and where each of them is planted.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "../prepare.mjs";

const directory = join(root, "test", "planted");

/** All bugs, with the name of their file: `keys: a stored key goes to another server`. */
export const bugs = readdirSync(directory)
  .filter((name) => name.endsWith(".yaml"))
  .toSorted()
  .flatMap((file) =>
    parse(readFileSync(join(directory, file), "utf8")).map(({ name, ...bug }) => ({
      name: `${file.slice(0, -5)}: ${name}`,
      ...bug,
    })),
  );

/** Exported names → files of src; undefined for a name of several files. */
function homes() {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(root, "src", name));
  const found = new Map();
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    for (const [, name] of text.matchAll(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm))
      found.set(name, found.has(name) ? undefined : file);
  }
  return found;
}

let known;

/** The file of a bug. Throws if the name is not exported by one file, or the text is not there once. */
export function fileOf(bug) {
  known ??= homes();
  const file = bug.in.includes("/") ? join(root, "src", bug.in) : known.get(bug.in);
  if (file === undefined) throw new Error(`no file of src, or several, export ${bug.in}`);
  planted(bug, readFileSync(file, "utf8"));
  return file;
}

/** The code with the bug. Throws if the text is not there once. */
export function planted({ in: place, from, to }, code) {
  const parts = code.split(from);
  if (parts.length !== 2)
    throw new Error(`${parts.length - 1} times in the file of ${place}: ${from}`);
  return parts.join(to);
}
