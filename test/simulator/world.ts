import type { SandboxOptions } from "../../src/sandbox/http/backend.ts";
import { Disk } from "./disk.ts";
import { FaultPlan } from "./faults.ts";
import { Machine } from "./machine.ts";
import { SimulatedProcess, type ProcessOptions } from "./process.ts";
import { draw } from "./random.ts";
import { SimulatedServer, START } from "./server.ts";
import type { SimulatedSite } from "./site.ts";
import { Timeline } from "./timeline.ts";

/** What a seed and a list of faults determine. */
export interface WorldOptions {
  readonly seed: number;
  /** The faults to repeat; without them, the seed draws some. */
  readonly faults?: readonly string[] | undefined;
  readonly server?: Partial<SandboxOptions> | undefined;
}

/** A server, machines and processes, with everything between them decided by a seed. */
export class World {
  readonly timeline: Timeline;
  readonly faults: FaultPlan;
  readonly server: SimulatedServer;
  /** What happened, one line each. */
  readonly trace: string[] = [];
  /** Called when a process sends a request, and when it has its response. */
  onRequest: (process: SimulatedProcess, isSent: boolean) => void = () => {};
  readonly processes: SimulatedProcess[] = [];
  /** Do lists of documents lack one, as while others change them? */
  lists: "whole" | "short at times" | "short" = "whole";
  /** A web site beside the server. */
  site: SimulatedSite | undefined;
  readonly #seed: number;

  constructor({ seed, faults }: WorldOptions, timeline: Timeline, server: SimulatedServer) {
    this.#seed = seed;
    this.timeline = timeline;
    this.server = server;
    this.faults = new FaultPlan(seed, faults);
  }

  static async open(options: WorldOptions): Promise<World> {
    const timeline = new Timeline();
    const server = await SimulatedServer.open(timeline, options.seed, options.server ?? {});
    return new World(options, timeline, server);
  }

  /** A number from 0 to below 1 for these words. */
  random(words: string): number {
    return draw(this.#seed, words);
  }

  /** A whole number from 0 to below `end`. */
  below(end: number, words: string): number {
    return Math.floor(this.random(words) * end);
  }

  /** One of the choices. */
  pick<T>(choices: readonly T[], words: string): T {
    return choices[this.below(choices.length, words)] as T; // never empty
  }

  /** Does this happen? Like a fault, it is dropped when a failure is reduced to what it needs. */
  happens(kind: string, place: string, probability: number): boolean {
    return this.faults.happens(kind, place, probability);
  }

  machine(): Machine {
    const disk = new Disk(() => START + this.timeline.time);
    return new Machine(this, "vm", { disk, power: { machines: [], isOffUntil: 0, boots: 1 } });
  }

  /** A machine that sometimes has two containers with one disk. */
  containers(): Machine {
    const machine = this.machine();
    if (this.random("containers") < 0.3) machine.beside();
    return machine;
  }

  /** The container for a process: another one is a fault that can be dropped. */
  somewhere(machine: Machine, name: string): Machine {
    const other = machine.power.machines.find((each) => each !== machine);
    return other && this.happens("elsewhere", name, 0.4) ? other : machine;
  }

  /** Starts a program; its name begins the names of its faults. */
  start(argv: readonly string[], options: ProcessOptions): SimulatedProcess {
    const process = new SimulatedProcess(this, argv, options);
    this.processes.push(process);
    return process;
  }

  pause(ms: number): Promise<void> {
    return this.timeline.wait(ms);
  }

  /** From here on nothing fails. */
  calm(): void {
    this.faults.isOver = true;
    this.note("no more faults");
  }

  note(text: string): void {
    this.trace.push(`${this.timeline.time.toFixed(3)} ${text}`);
  }

  /** The command lines of the processes that have not ended. */
  running(): string {
    const running = this.processes.filter(({ isAlive }) => isAlive);
    return running.map(({ name, argv }) => `${name} (${argv.join(" ")})`).join(", ") || "nothing";
  }
}
