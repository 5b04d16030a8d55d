// What the npm package weighs, and what a program loads that imports its client.
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { npm } from "../npm-package.mjs";
import { root } from "../prepare.mjs";
import { clean, folder, inTurn, result } from "./tools.mjs";

const megabytes = (files) => files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
const filesIn = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

export async function packageSize() {
  npm(["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], { cwd: root });
  const tarball = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith(".tgz")),
  );
  const project = join(folder, "project");
  npm(["install", "--offline", "--no-audit", "--no-fund", "--prefix", project, tarball]);
  result("package, packed", megabytes([tarball]), "MB", { atMost: 3.2 });
  const installed = join(project, "node_modules");
  result("package, unpacked", megabytes(filesIn(join(installed, "kb-wf"))), "MB");
  result("installed, with what it depends on", megabytes(filesIn(installed)), "MB");
  const library = join(installed, "kb-wf", "dist", "library", "index.mjs");
  const args = ["--input-type=module", "-e", `await import(${JSON.stringify(library)})`];
  const listed = execFileSync(process.execPath, ["--import", hook(), ...args], {
    encoding: "utf8",
  });
  const loaded = listed
    .trim()
    .split("\n")
    .filter((path) => path.startsWith(installed));
  result("files that an import of the client loads", loaded.length, "files");
  result("of this size", megabytes(loaded) * 1000, "kB", { atMost: 1000 });
  const bare = { args: ["--input-type=module", "-e", "0"], env: clean };
  const { ratio } = await inTurn(bare, { args, env: clean });
  result("a start of the client", ratio, "× node");
}

/** A module that prints the path of each module that is loaded after it. */
function hook() {
  const loader = `export async function load(url, context, next) {
    if (url.startsWith("file:")) (await import("node:fs")).writeSync(1, new URL(url).pathname + "\\n");
    return next(url, context);
  }`;
  const source = `import { register } from "node:module"; register("data:text/javascript,${encodeURIComponent(loader)}");`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
