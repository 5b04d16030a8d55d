import { readyAnswer } from "./cli/ready-answer.ts";
import { bundleFile } from "./host/bundle-file.ts";
import { platform } from "./host/platform.ts";

/**
 * Entry point: runs the CLI and exits with its code. It exits at once when the output is written: on
 * Node 20, waiting for V8 to finish with undici's parser would take 80 ms.
 */
export async function main(program: "kb" | "wf"): Promise<never> {
  const argv = [program, ...process.argv.slice(2)];
  const answer = readyAnswer(argv, { platform, file: bundleFile });
  if (answer !== undefined && (await isPrinted(answer))) process.exit(0);
  const { run } = await import("./cli/run.ts");
  const { nodeHost } = await import("./host/node-host.ts");
  process.exit(await run(argv, nodeHost()));
}

/** Prints a text that fits on the terminal; false if it does not, or cannot be written. */
function isPrinted(text: string): Promise<boolean> {
  const { stdout } = process;
  const { isTTY, columns, rows } = stdout;
  if (isTTY && (columns < 80 || text.split("\n").length > rows)) return Promise.resolve(false);
  stdout.on("error", () => {}); // EPIPE would crash the process even though write() has a callback
  return new Promise((resolve) => stdout.write(text, (error) => resolve(!error)));
}
