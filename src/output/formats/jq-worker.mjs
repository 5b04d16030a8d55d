// Runs jq in a thread (jq.ts), so that an endless filter can be stopped. Plain JavaScript: Node starts
// it from the sources, too.
import { parentPort } from "node:worker_threads";
// This entry contains its WebAssembly, so it can be bundled.
import { raw } from "jq-wasm/inline";

parentPort?.on("message", async ({ input, query }) => {
  const result = await raw(input, query, ["-c"]).catch((error) => ({
    stdout: "",
    stderr: String(error?.message ?? error),
    exitCode: 1,
  }));
  parentPort?.postMessage(result);
});
