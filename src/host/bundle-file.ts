import { readFileSync } from "node:fs";
import { join, sep } from "node:path";

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
