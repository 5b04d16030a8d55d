import { equal, ok } from "node:assert/strict";
import type { Machine, SimulatedProcess } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

/** Connections that the processes of a machine share, and those that one of them uses at most. */
const [SLOTS, MOST] = [10, 8];
/** Each process gets at least this part of an equal share, in each window of so many ms. */
const [LEAST_PART, WINDOW_MS] = [0.5, 3000];

/** Starts a command that sends a request for each row. */
function startRows(world: World, machine: Machine, name: string, rows: number): SimulatedProcess {
  const names = Array.from({ length: rows }, (_, row) => `${name} ${row}\n`);
  return world.start(["kb", "tag", "create", "--each", "-", "-v"], {
    name,
    machine,
    env: { KB_KEY: "dataset-sandbox", KB_STATE_DIR: "/home/user/state" },
    stdin: `name\n${names.join("")}`,
  });
}

/** On a full disk a process works without the others, and says so. */
const shares = ({ err }: SimulatedProcess): boolean => !err.includes("not shared");

/** Throws if more requests are in flight than there are slots. */
function requireSlots(world: World): void {
  const open = world.processes.filter(({ isAlive }) => isAlive).filter(shares);
  const sum = open.reduce((all, { inFlight }) => all + inFlight, 0);
  ok(sum <= SLOTS, `${sum} requests in flight: ${open.map((each) => each.inFlight).join(" ")}`);
  for (const { name, inFlight } of open) ok(inFlight <= MOST, `${name} has ${inFlight}`);
}

/** Processes that start at any time, with faults and kills: each of them ends. */
async function playDisturbed(world: World, machine: Machine): Promise<void> {
  const count = 2 + world.below(8, "processes");
  const started: SimulatedProcess[] = [];
  for (let index = 0; index < count; index++) {
    await world.pause(world.random(`late ${index}`) * 1000);
    const process = startRows(world, machine, `rows ${index}`, 15);
    started.push(process);
    if (!world.happens("killed", process.name, 0.3)) continue;
    await world.pause(world.random(`until the kill of ${index}`) * 600);
    process.kill();
  }
  await Promise.all(started.map(({ ended }) => ended));
}

/** Processes that all have work: each gets its part of the requests in each window. */
async function playFair(world: World, machine: Machine): Promise<void> {
  const count = world.pick([2, 3, 7, 12], "members");
  const answered = new Map<string, number>();
  world.onRequest = ({ name }, isSent) => {
    requireSlots(world);
    if (!isSent) answered.set(name, (answered.get(name) ?? 0) + 1);
  };
  // The first one has all slots when the others begin.
  const started = [startRows(world, machine, "fair 0", 1000)];
  await world.pause(600);
  for (let index = 1; index < count; index++)
    started.push(startRows(world, machine, `fair ${index}`, 600));
  await world.pause(1000);
  answered.clear();
  await world.pause(WINDOW_MS);
  const equalShare = [...answered.values()].reduce((sum, each) => sum + each, 0) / count;
  for (const { name, isAlive } of started) {
    ok(isAlive, "too few rows for the window");
    const got = answered.get(name) ?? 0;
    ok(
      got >= LEAST_PART * equalShare,
      `${name} of ${count} got ${got} answers of ${equalShare.toFixed(1)} in ${WINDOW_MS} ms`,
    );
  }
  for (const process of started) process.kill();
}

/** A process alone gets as many slots as it may have, whatever was left by those that were killed. */
async function playAlone(world: World, machine: Machine): Promise<void> {
  let most = 0;
  world.onRequest = ({ inFlight }) => {
    requireSlots(world);
    most = Math.max(most, inFlight);
  };
  const end = await startRows(world, machine, "alone", 150).ended;
  equal(end.exit, 0, end.err);
  equal(most, MOST, "requests at a time of a process alone");
  equal(machine.disk.has("/home/user/state/connections"), false, "files are left");
}

async function play(world: World): Promise<void> {
  const machine = world.machine();
  world.onRequest = () => requireSlots(world);
  await playDisturbed(world, machine);
  world.calm();
  await world.pause(10_000); // longer than a server is down
  // It takes ten times as long as the rest.
  if (world.below(3, "fair") === 0) await playFair(world, machine);
  await playAlone(world, machine);
}

const SHARED_SLOTS = "src/host/shared-slots.ts";

/** Processes of one machine that share the connections of a server, some of which are killed. */
export const governor: Scenario = {
  name: "governor",
  play,
  guards: [
    {
      name: "a slot can be taken twice",
      file: SHARED_SLOTS,
      from: 'if (!("release" in lock)) continue;',
      to: 'if (!("release" in lock)) { this.#held.set(number, { number, release() {}, busy: false }); return true; }',
    },
    {
      name: "all slots are the share of each",
      file: SHARED_SLOTS,
      from: "this.#share = fairShare(this.#id, members, this.#settings.total, time);",
      to: "this.#share = this.#settings.total;",
    },
    {
      name: "the remainder always goes to the same members",
      file: "src/host/fair-share.ts",
      from: "Math.floor(time / TURN_MS) % all.length",
      to: "0 * time",
    },
    {
      name: "members that were killed count",
      file: SHARED_SLOTS,
      from: 'if ("release" in lock) lock.release();',
      to: "",
    },
    {
      name: "the share is computed once",
      file: SHARED_SLOTS,
      from: "if (this.#host.elapsed() - this.#lookedAt > LOOK_MS) void this.#lookAgain();",
      to: "",
    },
    {
      name: "a slot in which nothing runs is kept",
      file: SHARED_SLOTS,
      from: "if (slot.busy) continue;",
      to: "if (slot.busy || this.#waiting.size > 0) continue;",
    },
    {
      name: "a task that waits for a slot is forgotten",
      file: SHARED_SLOTS,
      from: "for (const onFree of waiting) onFree();",
      to: "for (const onFree of waiting.slice(1)) onFree();",
    },
  ],
};
