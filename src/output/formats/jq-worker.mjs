// Runs jq beside the program (jq.ts): there a filter without end can be ended. Plain JavaScript, so
// that Node starts it from here as well as from the bundle.
import { parentPort } from "node:worker_threads";
// The entry that carries its WebAssembly inside can be bundled.
import { raw } from "jq-wasm/inline";

parentPort?.on("message", async ({ id, input, query }) => {
  const result = await raw(input, query, ["-c"]).catch((error) => ({
    stdout: "",
    stderr: String(error?.message ?? error),
    exitCode: 1,
  }));
  parentPort?.postMessage({ id, ...result });
});
