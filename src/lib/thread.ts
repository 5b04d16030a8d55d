import { once } from "node:events";
import { getAsset, isSea } from "node:sea";
import { Worker } from "node:worker_threads";
import type { WorkerOptions } from "node:worker_threads";

/**
 * Starts a script in a thread that shares no environment variables. In the single executable, the
 * script is an asset instead of a file.
 */
export function startThread(script: URL, options: WorkerOptions): Worker {
  const own = { ...options, env: {}, execArgv: [] };
  if (!isSea()) return new Worker(script, own);
  const name = script.pathname.slice(script.pathname.lastIndexOf("/") + 1);
  return new Worker(getAsset(name, "utf8"), { ...own, eval: true });
}

/** A thread that answers requests, one after the other. */
export interface Thread {
  /** The answer of the script. Throws the reason of a signal that is aborted, and what the script throws. */
  ask(request: unknown, signal?: AbortSignal): Promise<unknown>;
  /** Ends it; the next request starts another one. */
  end(): void;
}

/**
 * A thread for work that may never end: a request that is aborted, or that takes more than `time` ms, ends the thread.
 * It is started with the first request and reused, and keeps no process alive that waits for no answer.
 */
export function newThread(
  script: URL,
  { time, memory }: { readonly time?: number; readonly memory?: number } = {},
): Thread {
  let started: Promise<Worker> | undefined;
  let previous: Promise<unknown> = Promise.resolve();
  const end = () => {
    void started?.then((worker) => worker.terminate());
    started = undefined;
  };
  const start = async () => {
    // Captured: what runs in it may print messages of its own.
    const options = { stdout: true, stderr: true };
    const limits = memory === undefined ? {} : { maxOldGenerationSizeMb: memory };
    const worker = startThread(script, { ...options, resourceLimits: limits });
    worker.on("error", () => void (started = undefined)); // also between two requests
    return worker;
  };
  const answer = async (request: unknown, stop: AbortSignal | undefined) => {
    stop?.throwIfAborted();
    const worker = await (started ??= start());
    const signals = [stop ?? [], time === undefined ? [] : AbortSignal.timeout(time)].flat();
    const signal = AbortSignal.any(signals);
    worker.ref();
    try {
      const message = once(worker, "message", { signal });
      worker.postMessage(request);
      return (await message)[0] as unknown;
    } catch (error) {
      end();
      throw signal.aborted ? signal.reason : error;
    } finally {
      worker.unref();
    }
  };
  return {
    ask(request, stop) {
      const result = previous.then(() => answer(request, stop));
      previous = result.catch(() => {});
      return result;
    },
    end,
  };
}
