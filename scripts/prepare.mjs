// Prepares a clone: installs the dependencies of the lock file and builds, if either is out of date.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Says what it does and runs a program in the project directory; if that fails, prints its output and exits with its code. */
function must(what, command, args) {
  console.error(`${what}…`);
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    shell: process.platform === "win32",
  });
  if (status === 0) return;
  console.error(error?.message ?? `${stdout}${stderr}`.trim());
  process.exit(status ?? 1);
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
  const installed = changed(join(root, "node_modules", ".package-lock.json"));
  if (installed < changed(join(root, "package-lock.json"))) {
    must("Installing", "npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  }
}

function build() {
  const sources = Math.max(
    newest(join(root, "src")),
    newest(join(root, "scripts")),
    changed(join(root, "rolldown.config.mjs")),
    changed(join(root, "package-lock.json")),
  );
  if (changed(join(root, "dist", "main.cjs")) < sources) {
    must("Building", tool("rolldown"), ["-c", "rolldown.config.mjs", "--logLevel", "silent"]);
  }
}

export function prepare() {
  install();
  build();
}
