import { readyAnswer } from "./cli/ready-answer.ts";
import { bundleFile, directoriesOf, platform, keepCompiledCode } from "./host/runtime.ts";
import { endWithLastLine, nodeOutput } from "./host/node-output.ts";

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
