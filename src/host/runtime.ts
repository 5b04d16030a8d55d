import { readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { attempt } from "../lib/json.ts";
import type { RawHost } from "./host.ts";
import { privateDirectory } from "./trusted-path.ts";

/** Version of Node and platform: `v20.19.0 linux-x64`. */
export const platform = `${process.version} ${process.platform}-${process.arch}`;

/** Is this the single executable? Its modules have paths below its own (scripts/binary/start.cjs). */
export const isExecutable = import.meta.dirname.startsWith(join(process.execPath, sep));

/**
 * The text of a file that the build writes beside the bundle; in the single executable, it is an asset.
 * Throws if there is none.
 */
export const bundleFile = (name: string): string =>
  isExecutable
    ? process.getBuiltinModule("node:sea").getAsset(name, "utf8")
    : readFileSync(join(import.meta.dirname, name), "utf8");

/** Directories by the XDG specification, on Windows below AppData; each `KB_*_DIR` replaces one. */
export function directoriesOf(env: RawHost["env"]): RawHost["directories"] {
  // The root if the user has no home, as for services.
  const home = () =>
    env["HOME"] ||
    env["USERPROFILE"] ||
    (attempt(() => process.getBuiltinModule("node:os").homedir()) ?? "/");
  const windows = process.platform === "win32";
  const directory = (
    own: string,
    xdg: string,
    below: string,
    appData: "APPDATA" | "LOCALAPPDATA",
  ) =>
    env[own] ||
    (windows
      ? join(env[appData] || join(home(), "AppData"), "kb", ...(below === ".config" ? [] : [below]))
      : join(env[xdg] || join(home(), below), "kb"));
  return {
    config: directory("KB_CONFIG_DIR", "XDG_CONFIG_HOME", ".config", "APPDATA"),
    state: directory("KB_STATE_DIR", "XDG_STATE_HOME", join(".local", "state"), "LOCALAPPDATA"),
    data: directory("KB_DATA_DIR", "XDG_DATA_HOME", join(".local", "share"), "LOCALAPPDATA"),
    cache: directory("KB_CACHE_DIR", "XDG_CACHE_HOME", ".cache", "LOCALAPPDATA"),
  };
}

/**
 * Lets Node.js 22.8 and later keep what it compiles in the directory `code` of a cache, so that later starts
 * take less time. What is read there is run, so others must not be able to write there.
 */
export function keepCompiledCode(cache: string): void {
  // Node.js 20 has no such cache.
  if (isExecutable || process.version.startsWith("v20.")) return; // the executable contains compiled code
  const { enableCompileCache } = process.getBuiltinModule("node:module") as {
    readonly enableCompileCache?: (directory: string) => unknown;
  };
  if (!enableCompileCache) return;
  const directory = attempt(() => privateDirectory(join(cache, "code")));
  if (directory !== undefined) enableCompileCache(directory);
}
