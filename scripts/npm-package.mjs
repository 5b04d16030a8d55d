// Packages that only some scripts need: installed on first use, below node_modules/.cache.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./prepare.mjs";

/** Runs a program and returns its output, stderr included; throws with the output if it fails. */
export function run(what, command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: "utf8",
    ...options,
  });
  if (status === 0) return `${stdout}${stderr}`.trim();
  throw new Error(`${what} failed: ${error?.message ?? `exit code ${status}`}\n${stdout}${stderr}`);
}

/** Runs npm, with the Node.js of this process. */
export function npm(args, options = {}) {
  const what = `npm ${args[0]}`;
  const script = process.env.npm_execpath;
  if (script !== undefined) return run(what, process.execPath, [script, ...args], options);
  return run(what, "npm", args, { shell: process.platform === "win32", ...options });
}

/**
 * Installs a package with an exact version or a range (`node@24.21.0`) and returns its directory. With
 * `force`, also if it is for another system.
 */
export function cachedPackage(name, version, { force = false } = {}) {
  const place = join(root, "node_modules", ".cache", name, version);
  const folder = join(place, "node_modules", name);
  const complete = join(place, "complete");
  if (!existsSync(complete)) {
    rmSync(place, { recursive: true, force: true }); // an installation that was interrupted
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "package.json"), '{"private":true}\n');
    const flags = ["--no-audit", "--no-fund", ...(force ? ["--force"] : [])];
    npm(["install", ...flags, `${name}@${version}`], { cwd: place });
    writeFileSync(complete, "");
  }
  return folder;
}
