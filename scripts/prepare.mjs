// Prepares a clone: installs the dependencies of the lock file and builds, if either is out of date.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Says what it does and runs a program in the project directory. If that fails, or the file that it makes is not there,
 * prints its output and exits: npm 10 may exit with 0 after it failed to reach its registry.
 */
function must(what, made, command, args) {
  console.error(`${what}…`);
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    shell: process.platform === "win32",
  });
  if (status === 0 && existsSync(made)) return;
  console.error(error?.message ?? `${stdout}${stderr}`.trim());
  if (status === 0) console.error(`${command} exited with 0, but did not make ${made}`);
  process.exit(status || 1);
}

/** Returns the path of a program that a development dependency installs. */
export const tool = (name) => join(root, "node_modules", ".bin", name);

const changed = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

const newest = (folder) =>
  Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => changed(join(entry.parentPath ?? entry.path, entry.name))),
  );

function install() {
  const installed = join(root, "node_modules", ".package-lock.json");
  if (changed(installed) < changed(join(root, "package-lock.json"))) {
    must("Installing", installed, "npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  }
}

function build() {
  const sources = Math.max(
    newest(join(root, "src")),
    newest(join(root, "scripts")),
    changed(join(root, "rolldown.config.mjs")),
    changed(join(root, "package-lock.json")),
  );
  const built = join(root, "dist", "main.cjs");
  if (changed(built) < sources) {
    must("Building", built, process.execPath, [join(root, "scripts", "build.mjs")]);
  }
}

export function prepare() {
  install();
  build();
}
