// `node scripts/manual-list.mjs add|remove [directory]`: names the manual pages in package.json while npm packs.
// npm expands `directories.man` only in what it sends to a registry. From a tarball it installs no page that
// package.json does not name.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [, , action, directory = "."] = process.argv;
const path = join(directory, "package.json");
const { man: _, ...manifest } = JSON.parse(readFileSync(path, "utf8"));
if (action === "add") {
  const folder = manifest.directories.man;
  const pages = readdirSync(join(directory, folder)).sort();
  manifest.man = pages.map((name) => `${folder}/${name}`);
}
writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
