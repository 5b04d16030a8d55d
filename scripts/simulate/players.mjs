// Processes that play seeds.
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";

/** Jobs of one process: killed programs stay in its memory, about 0.2 MB a job. */
const MAX_JOBS = 500;

/** Idle processes by file: to start one takes as long as ten seeds. */
const idle = new Map();

/** A process of the bundle: `ask` sends a job and resolves with the answer. */
function start(file) {
  const child = fork(file, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const player = { jobs: 0, ask, stop: () => child.disconnect() };
  function ask(job) {
    player.jobs++;
    return new Promise((resolve, reject) => {
      const onExit = (code) => reject(new Error(`a player exited with ${code}`));
      child.once("exit", onExit);
      child.once("message", (answer) => {
        child.off("exit", onExit);
        resolve(answer);
      });
      child.send(job);
    });
  }
  return player;
}

/** Gives each job to the next process that is free, one per core, and its answer to `take`. */
export async function askAll(file, jobs, take) {
  const players = idle.get(file) ?? [];
  idle.set(file, players);
  const work = async () => {
    let player = players.pop();
    for (const job of jobs) {
      if (player?.jobs === MAX_JOBS) {
        player.stop();
        player = undefined;
      }
      player ??= start(file);
      take(await player.ask(job));
    }
    if (player) players.push(player);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}

/** Asks one process. */
export async function askOnce(file, job) {
  let answer;
  await askAll(file, [job].values(), (result) => (answer = result));
  return answer;
}

/** Ends the processes of a file. */
export function stopPlayers(file) {
  for (const { stop } of idle.get(file) ?? []) stop();
  idle.delete(file);
}
