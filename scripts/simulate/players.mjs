// Processes that play seeds.
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";

/** Jobs of one process: killed programs stay in its memory, 3 MB a job of many programs. */
const MAX_JOBS = 50;

/** A process of the bundle: `ask` sends a job and resolves with the answer. */
function player(file) {
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
  return { ask, stop: () => child.disconnect(), jobs: 0 };
}

/** Processes of a bundle, one per core, started when they are needed. */
export class Players {
  #file;
  #free = [];

  constructor(file) {
    this.#file = file;
  }

  /** Asks the next process that is free. */
  async ask(job) {
    const one = this.#free.pop() ?? player(this.#file);
    const answer = await one.ask(job);
    if (++one.jobs < MAX_JOBS) this.#free.push(one);
    else one.stop();
    return answer;
  }

  /** Gives each job to the next process that is free, and its answer to `take`. */
  async askAll(jobs, take) {
    const work = async () => {
      for (const job of jobs) take(await this.ask(job));
    };
    await Promise.all(Array.from({ length: availableParallelism() }, work));
  }

  /** Ends the processes, none of which may be busy. */
  stop() {
    for (const one of this.#free.splice(0)) one.stop();
  }
}
