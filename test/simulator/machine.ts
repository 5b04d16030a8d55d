import type { Disk } from "./disk.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Longest time without power, and for which a process is stopped, in ms. */
const MAX_OFF_MS = 60_000;
const MAX_STOP_MS = 60_000;
/** Elsewhere the lock of a process that does not refresh it counts as left after 15 s. */
const MAX_STOP_OF_SHARED_MS = 10_000;

/** What containers of one machine share. */
interface Power {
  readonly machines: Machine[];
  /** Simulated time at which it is on again. */
  isOffUntil: number;
  /** How often the machine has started. */
  boots: number;
}

/** A machine, or one of several containers with the same disk: pids mean something in one of them alone. */
export class Machine {
  readonly disk: Disk;
  readonly name: string;
  readonly power: Power;
  /** ms by which its clock is wrong. */
  clockOffset = 0;
  readonly #world: World;
  readonly #processes = new Map<number, SimulatedProcess>();

  constructor(world: World, name: string, { disk, power }: Pick<Machine, "disk" | "power">) {
    this.#world = world;
    this.name = name;
    this.disk = disk;
    this.power = power;
    power.machines.push(this);
  }

  /** Another container with the disk of this one. */
  beside(): Machine {
    return new Machine(this.#world, `${this.name}-${this.power.machines.length}`, this);
  }

  get longestStop(): number {
    return this.power.machines.length > 1 ? MAX_STOP_OF_SHARED_MS : MAX_STOP_MS;
  }

  /** Gives a process its pid: that of one that has ended if it is to be reused. */
  addProcess(process: SimulatedProcess, isReused: boolean): number {
    const free = [...this.#processes].filter(([, { state }]) => state === "X");
    const pid = (isReused ? free.at(-1)?.[0] : undefined) ?? 1000 + this.#processes.size;
    this.#processes.set(pid, process);
    return pid;
  }

  /** Is there a process of this pid, a zombie included? */
  hasProcess(pid: number): boolean {
    return (this.#processes.get(pid)?.state ?? "X") !== "X";
  }

  /** The text of a file or link of /proc. */
  proc(path: string): string {
    if (path.endsWith("/boot_id")) return `boot-${this.power.boots}`;
    if (path === "/proc/self/ns/pid") return `pid:[${this.name}]`;
    const pid = Number(/^\/proc\/(\d+)\/stat$/.exec(path)?.[1]);
    const process = this.#processes.get(pid);
    if (!process || process.state === "X") throw new Error(`ENOENT: ${path}`);
    const fields = Array.from({ length: 18 }, () => "0").join(" ");
    return `${pid} (node) ${process.state} ${fields} ${process.start} 0`;
  }

  /** Ends all processes of the machine; changes that are not flushed may be lost. */
  losePower(place: string): void {
    const random = (words: string) => this.#world.random(`${words} after ${place}`);
    this.#world.note(`no power: ${place}`);
    this.power.boots++;
    const { timeline } = this.#world;
    this.power.isOffUntil = timeline.time + 15_000 + random("time without power") * MAX_OFF_MS;
    for (const machine of this.power.machines) {
      for (const process of machine.#processes.values()) {
        process.kill();
        process.state = "X";
      }
    }
    this.disk.losePower(random);
  }
}
