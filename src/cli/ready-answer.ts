import { attempt } from "../lib/json.ts";
import { versionLine } from "../lib/version.ts";

/** What answers that are ready depend on. */
export interface ReadySources {
  /** Version of Node and platform: `v20.19.0 linux-x64`. */
  readonly platform: string;
  /** Returns a file that the build wrote. Throws if there is none. */
  file(name: string): string;
}

/**
 * The output of `kb --version` and of the help of a command or group, for a terminal of 80 columns or more:
 * the build wrote the pages, so nothing else need be loaded. Undefined for all other lines.
 */
export function readyAnswer(
  [program = "kb", ...words]: readonly string[],
  { platform, file }: ReadySources,
): string | undefined {
  const flag = words.at(-1);
  if (words.length === 1 && (flag === "--version" || flag === "-V"))
    return versionLine(program, platform);
  const path = words.slice(0, -1);
  if ((flag !== "--help" && flag !== "-h") || !path.every((word) => /^[a-z-]+$/.test(word))) return;
  const pages = attempt(() => file(`help-${program}.txt`)) ?? "";
  const head = `\f${[program, ...path].join(" ")}\n`;
  const start = pages.indexOf(head);
  if (start < 0) return undefined;
  const [page = ""] = pages.slice(start + head.length).split("\f", 1);
  const [brief = "", full = ""] = page.split("\v");
  return flag === "-h" ? brief : full;
}
