import type { Worker, WorkerOptions } from "node:worker_threads";

/**
 * Starts a script in a thread that shares no environment variables. In the single executable, the
 * script is an asset instead of a file.
 */
export async function startThread(script: URL, options: WorkerOptions): Promise<Worker> {
  const { Worker } = await import("node:worker_threads"); // 2 ms that only threads need
  const { getAsset, isSea } = await import("node:sea");
  const own = { ...options, env: {}, execArgv: [] };
  if (!isSea()) return new Worker(script, own);
  const name = script.pathname.slice(script.pathname.lastIndexOf("/") + 1);
  return new Worker(getAsset(name, "utf8"), { ...own, eval: true });
}
