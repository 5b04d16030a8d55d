// Prepares a clone: installs the dependencies of the lock file and builds, if either is out of date.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs a program in the project directory; if it fails, exits with its exit code. */
function must(command, args, options = {}) {
  const windows = process.platform === "win32";
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: windows,
    ...options,
  });
  if (status !== 0) process.exit(status ?? 1);
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
    // The output of npm is progress, so it goes to stderr.
    must("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { stdio: ["ignore", 2, 2] });
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
    must(tool("rolldown"), ["-c", "rolldown.config.mjs", "--logLevel", "silent"], {
      stdio: ["ignore", 2, 2],
    });
  }
}

export function prepare() {
  install();
  build();
}
