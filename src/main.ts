import { bundleFile, directoriesOf, platform, keepCompiledCode } from "./host/runtime.ts";
import { endWithLastLine, nodeOutput } from "./host/node-output.ts";
import { attempt } from "./lib/json.ts";
import { versionLine } from "./lib/version.ts";

/**
 * Entry point: runs the CLI and exits with its code. It exits at once when the output is written: on
 * Node 20, waiting for V8 to finish with undici's parser would take 80 ms.
 */
export async function main(program: "kb" | "wf"): Promise<never> {
  process.on("uncaughtException", endWithLastLine);
  const argv = [program, ...process.argv.slice(2)];
  const answer = readyAnswer(argv, { platform, file: bundleFile });
  if (answer !== undefined && (await isPrinted(answer))) process.exit(0);
  keepCompiledCode(directoriesOf(process.env).cache);
  const { run } = await import("./cli/run.ts");
  const { nodeHost } = await import("./host/node-host.ts");
  process.exit(await run(argv, nodeHost()));
}

/** Prints a text that fits on the terminal; false if it does not, or cannot be written. */
async function isPrinted(text: string): Promise<boolean> {
  const output = nodeOutput("stdout", { reportErrors: true });
  const rows = output.terminal?.rows ?? Infinity;
  if (output.columns < 80 || text.split("\n").length > rows) return false;
  return output.write(text).then(
    () => true,
    () => false, // the ordinary way fails as well, and says why
  );
}

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
