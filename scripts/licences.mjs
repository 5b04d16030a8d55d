// A rolldown plugin that writes the licenses of the programs and of all bundled packages to one file.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const own = readFileSync(join(import.meta.dirname, "..", "LICENSE"), "utf8");

/** Of the packages of this and of earlier builds. */
const folders = new Set();

/** Adds `LICENSES.txt` to the output, the license of the programs first; fails the build if a bundled package has no license text. */
export const licences = {
  name: "licences",
  generateBundle(_, bundle) {
    const ids = Object.values(bundle).flatMap((part) => part.moduleIds ?? []);
    for (const folder of ids.map(packageFolder)) if (folder) folders.add(folder);
    const texts = [own, ...[...folders].sort().map(licenceOf), compiledIn];
    this.emitFile({ type: "asset", fileName: "LICENSES.txt", source: texts.join(`\n${rule}\n`) });
  },
};

const rule = "-".repeat(78);

/** Software that packages contain as WebAssembly or in one file, which no module lists. */
const compiledIn = `jq-wasm contains jq (MIT, Copyright (C) 2012 Stephen Dolan) and Oniguruma (BSD-2-Clause,
Copyright (c) 2002-2021 K.Kosako); node-sqlite3-wasm contains SQLite, which is in the public domain;
unpdf contains pdf.js (Apache-2.0, Copyright Mozilla Foundation, https://www.apache.org/licenses/LICENSE-2.0).
`;

/** Returns the directory of the package that a module belongs to; undefined for own modules. */
function packageFolder(id) {
  const path = id.replaceAll("\\", "/");
  const end = path.lastIndexOf("/node_modules/");
  if (end < 0) return undefined;
  const start = end + "/node_modules/".length;
  const [first, second] = path.slice(start).split("/");
  return path.slice(0, start) + (first.startsWith("@") ? `${first}/${second}` : first);
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)([.-]|$)/i.test(entry));
  if (file === undefined) throw new Error(`${name} is in the bundle and has no licence text`);
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
}
