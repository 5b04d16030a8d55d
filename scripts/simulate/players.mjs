// Processes that play seeds.
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";

/** A process of the bundle: `ask` sends a job and resolves with the answer. */
export function player(file) {
  const child = fork(file, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ask = (job) =>
    new Promise((resolve, reject) => {
      const onExit = (code) => reject(new Error(`a player exited with ${code}`));
      child.once("exit", onExit);
      child.once("message", (answer) => {
        child.off("exit", onExit);
        resolve(answer);
      });
      child.send(job);
    });
  return { ask, stop: () => child.disconnect() };
}

/** Asks one process, and ends it. */
export async function askOnce(file, job) {
  const { ask, stop } = player(file);
  try {
    return await ask(job);
  } finally {
    stop();
  }
}

/** Jobs of one process: killed programs stay in its memory, about 0.2 MB a job. */
const MAX_JOBS = 500;

/** Gives each job to the next process that is free, one per core, and its answer to `take`. */
export async function askAll(file, jobs, take) {
  const work = async () => {
    let current = player(file);
    let count = 0;
    try {
      for (const job of jobs) {
        if (++count % MAX_JOBS === 0) {
          current.stop();
          current = player(file);
        }
        take(await current.ask(job));
      }
    } finally {
      current.stop();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}
