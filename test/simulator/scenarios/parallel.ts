import { equal, ok } from "node:assert/strict";
import type { Machine } from "../machine.ts";
import type { SimulatedProcess } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

/** Requests of a process at a time, at most. */
const MOST = 8;

/** Starts a command that sends a request for each row. */
function startRows(world: World, machine: Machine, name: string, rows: number): SimulatedProcess {
  const names = Array.from({ length: rows }, (_, row) => `${name} ${row}\n`);
  return world.start(["kb", "tag", "create", "--each", "-"], {
    name,
    machine,
    env: { KB_KEY: "dataset-sandbox" },
    stdin: `name\n${names.join("")}`,
  });
}

/** Processes that start at any time, some of which are killed: each of them ends. */
async function playDisturbed(world: World, machine: Machine): Promise<void> {
  const started: SimulatedProcess[] = [];
  for (let index = 0; index < 2 + world.below(8, "processes"); index++) {
    await world.pause(world.random(`late ${index}`) * 1000);
    const process = startRows(world, machine, `rows ${index}`, 15);
    started.push(process);
    if (!world.happens("killed", process.name, 0.3)) continue;
    await world.pause(world.random(`until the kill of ${index}`) * 600);
    process.kill();
  }
  await Promise.all(started.map(({ ended }) => ended));
}

async function play(world: World): Promise<void> {
  const machine = world.machine();
  let most = 0;
  world.onRequest = ({ name, inFlight }) => {
    ok(inFlight <= MOST, `${name} has ${inFlight} requests in flight`);
    most = Math.max(most, inFlight);
  };
  await playDisturbed(world, machine);
  world.calm();
  await world.pause(10_000); // longer than a server is down
  most = 0;
  const { exit, err } = await startRows(world, machine, "calm", 150).ended;
  equal(exit, 0, err);
  equal(most, MOST, "requests at a time of a process whose server is quick");
}

const LIMITER = "src/api/adaptive-limit.ts";

/** Processes that send many requests at a time, with faults and kills. */
export const parallel: Scenario = {
  name: "parallel",
  play,
  guards: [
    {
      name: "a limit has no maximum",
      file: LIMITER,
      from: "this.#change(Math.min(max, this.#limit + 1));",
      to: "this.#change(this.#limit + 1 + 0 * max);",
    },
    {
      name: "nobody wants more than the limit",
      file: LIMITER,
      from: "this.wantMore();",
      to: "",
    },
    {
      name: "a task keeps its place when it has ended",
      file: LIMITER,
      from: "this.#active--;",
      to: "",
    },
  ],
};
