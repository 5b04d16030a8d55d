import { run } from "./cli/run.ts";
import { nodeHost } from "./host/node-host.ts";

/**
 * Entry point: runs the CLI and exits with its code. It exits at once when the output is written: on
 * Node 20, waiting for V8 to finish with undici's parser would take 80 ms.
 */
export async function main(program: "kb" | "wf"): Promise<never> {
  const code = await run([program, ...process.argv.slice(2)], nodeHost());
  process.exit(code);
}
