import type { Dispatcher } from "undici";
import { run } from "../../src/cli/run.ts";
import type { Output, RawHost } from "../../src/host/host.ts";
import type { Machine } from "./machine.ts";
import { simulatedDispatcher } from "./network.ts";
import { ORIGIN, START } from "./server.ts";
import { simulatedFiles } from "./system.ts";
import { siteResponse } from "./site.ts";
import type { World } from "./world.ts";

/** How a process is started. */
export interface ProcessOptions {
  readonly name: string;
  readonly machine: Machine;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** The end of a process; a killed one has no exit code. */
export interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

/** Longest time of a step at the disk or a stream, in ms. */
const STEP_MS = 2;

/** Thrown by calls of a process that has ended: nothing comes of what it does then. */
export class ProcessEnded extends Error {}

/** A run of a program with everything outside it simulated. */
export class SimulatedProcess {
  readonly name: string;
  readonly pid: number;
  readonly argv: readonly string[];
  readonly ended: Promise<Ended>;
  /** Does it take steps, now or once it is resumed? */
  isAlive = true;
  /** State letter of the system: a killed process stays a zombie if its parent does not wait for it. */
  state: "R" | "T" | "Z" | "X" = "R";
  /** Start time in ticks. */
  readonly start: number;
  readonly machine: Machine;
  /** Simulated times. */
  readonly startedAt: number;
  endedAt = Infinity;
  out = "";
  err = "";
  /** Requests that it has sent and whose responses it has not read. */
  inFlight = 0;
  readonly #world: World;
  readonly #options: ProcessOptions;
  readonly #counts = new Map<string, number>();
  readonly #interrupted = new AbortController();
  #stoppedUntil = 0;
  #resolve: (ended: Ended) => void = () => {};

  constructor(world: World, argv: readonly string[], options: ProcessOptions) {
    this.#world = world;
    this.#options = options;
    this.name = options.name;
    this.argv = argv;
    const { machine } = options;
    this.machine = machine;
    this.startedAt = world.timeline.time;
    const isReused = world.happens("pid reuse", this.name, 0.2);
    this.pid = machine.addProcess(this, isReused);
    this.start = world.processes.length;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
    world.note(`${this.name}: ${argv.join(" ")}`);
    const program = async () => {
      const ms = machine.power.isOffUntil - world.timeline.time;
      if (ms > 0) await world.timeline.wait(ms);
      return this.isAlive ? run(argv, this.#host()) : null;
    };
    void program().then((exit) => this.#end(exit));
  }

  /** Ends the process at once. */
  kill(): void {
    this.#end(null);
  }

  /** Stops it, as Ctrl-Z does, for so many ms. */
  stop(ms: number): void {
    this.#stoppedUntil = this.#world.timeline.time + ms;
    this.state = "T";
    this.#world.note(`${this.name}: stopped for ${Math.round(ms)} ms`);
  }

  /** Sends Ctrl-C. */
  interrupt(): void {
    this.#interrupted.abort("SIGINT");
  }

  #end(exit: number | null): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.endedAt = this.#world.timeline.time;
    const { faults } = this.#world;
    const isLeft = exit === null && faults.strikes("zombie", this.name);
    this.state = isLeft ? "Z" : "X";
    const { out, err } = this;
    this.#world.note(`${this.name}: ended with ${exit ?? "a kill"}`);
    this.#world.note(`${out}${err}`);
    this.#resolve({ exit, out, err });
  }

  /** Waits for the turn of a step outside the program; never returns once the process has ended. */
  async #step(step: string, ms = STEP_MS, cut = () => {}): Promise<string> {
    const { timeline, faults } = this.#world;
    const place = this.#place(step);
    await timeline.wait(this.#random(`duration of ${place}`) * ms);
    if (this.isAlive && faults.strikes("stop", place))
      this.stop(this.#random(`stop at ${place}`) * this.#options.machine.longestStop);
    await this.#resumed();
    this.#cutOff(place, cut);
    if (!this.isAlive) await new Promise(() => {});
    if (faults.strikes("interrupt", place)) this.interrupt();
    if (faults.strikes("clock jump", place)) {
      const hours = this.#random(`jump at ${place}`) * 4 - 2;
      this.#options.machine.clockOffset += Math.round(hours * 3_600_000);
    }
    this.#world.note(place);
    return place;
  }

  /** A step of a call that blocks: no time passes. Throws if the process has ended, which may be at it. */
  #stepNow(step: string): string {
    const place = this.#place(step);
    this.#cutOff(place, () => {});
    if (!this.isAlive) throw new ProcessEnded();
    this.#world.note(place);
    return place;
  }

  #place(step: string): string {
    const count = (this.#counts.get(step) ?? 0) + 1;
    this.#counts.set(step, count);
    return `${this.name}: ${step} ${count}`;
  }

  /** Ends the process at a place, if a kill or a power cut strikes there. */
  #cutOff(place: string, cut: () => void): void {
    const { faults } = this.#world;
    if (!this.isAlive) return;
    if (faults.strikes("kill", place)) {
      cut();
      this.kill();
    } else if (faults.strikes("power", place)) {
      cut();
      this.#options.machine.losePower(place);
    }
  }

  async #resumed(): Promise<void> {
    const { timeline } = this.#world;
    while (this.isAlive && timeline.time < this.#stoppedUntil)
      await timeline.wait(this.#stoppedUntil - timeline.time);
    if (this.state === "T") this.state = "R";
  }

  #random(words: string): number {
    return this.#world.random(words);
  }

  #output(write: (text: string) => void, step?: string): Output {
    const decoder = new TextDecoder();
    let written = Promise.resolve();
    return {
      // In the order of the calls, also if they do not wait for each other.
      write: (text) => {
        written = written.then(async () => {
          if (step !== undefined) await this.#step(step);
          if (this.isAlive) write(typeof text === "string" ? text : decoder.decode(text));
        });
        return written;
      },
      isTTY: false,
      terminal: undefined,
      columns: Infinity,
      closed: false,
    };
  }

  #host(): RawHost {
    const { faults, timeline, server } = this.#world;
    const { machine, env, stdin = "" } = this.#options;
    const none = (what: string) => () => Promise.reject(new Error(`a simulation has no ${what}`));
    const directory = (kind: string) => `/home/user/${kind}`;
    let drawn = 0;
    const dispatcher = simulatedDispatcher({
      timeline,
      server,
      step: (step, ms) => this.#step(step, ms),
      strikes: (kind, place) => {
        const { lists } = this.#world;
        if (kind === "short list" && lists !== "short at times") return lists === "short";
        return faults.strikes(kind, place);
      },
      random: (words) => this.#random(words),
      note: (text) => this.#world.note(text),
    });
    const routed = {
      request: (options: Dispatcher.RequestOptions) =>
        String(options.origin) === ORIGIN
          ? dispatcher.request(options)
          : siteResponse(options, this.#world, (step, ms) => this.#step(step, ms)),
    } as unknown as Dispatcher; // all that the client uses
    return {
      env: { TZ: "UTC", KB_BASE_URL: `${ORIGIN}/v1`, ...env },
      platform: "v20.19.0 simulator",
      cwd: "/home/user",
      binDirectory: undefined,
      builtFile() {
        throw new Error("a simulation has no built files");
      },
      pathSeparator: ":",
      process: { pid: this.pid, isAlive: (pid) => machine.hasProcess(pid) },
      takeInterrupt: () => () => {},
      stdin: {
        isTTY: false,
        async *bytes() {
          yield new TextEncoder().encode(stdin);
        },
      },
      stdout: this.#output((text) => (this.out += text), "stdout"),
      stderr: this.#output((text) => (this.err += text)),
      directories: {
        config: directory("config"),
        state: directory("state"),
        data: directory("data"),
        cache: directory("cache"),
      },
      files: simulatedFiles({
        disk: machine.disk,
        step: (step, cut) => this.#step(step, STEP_MS, cut),
        stepNow: (step) => this.#stepNow(step),
        strikes: (kind, place) => faults.strikes(kind, place),
        random: (words) => this.#random(`${this.name}: ${words}`),
        proc: (path) => machine.proc(path),
        hostname: machine.name,
        lockClock: {
          now: () => new Date(START + Math.floor(timeline.time) + machine.clockOffset),
          sleep: async (ms, signal) => {
            await timeline.wait(ms, signal, "background");
            await this.#resumed();
            if (!this.isAlive) await new Promise(() => {});
          },
        },
      }),
      signal: this.#interrupted.signal,
      now: () => new Date(START + Math.floor(timeline.time) + machine.clockOffset),
      elapsed: () => Math.floor(timeline.time),
      sleep: async (ms, signal) => {
        await timeline.wait(ms, signal);
        await this.#step("wake");
      },
      random: () => this.#random(`${this.name}: number ${drawn++}`),
      dispatcher: () =>
        Promise.resolve(
          counted(routed, (change) => {
            this.inFlight += change;
            if (this.isAlive) this.#world.onRequest(this, change > 0);
          }),
        ),
      keyring: none("keyring"),
      spawn: () => {
        throw new Error("a simulation has no programs");
      },
      prompt: none("terminal"),
      fullScreen: none("terminal"),
    };
  }
}

/** The dispatcher, which reports when a request begins (1) and when its response was read (-1). */
const counted = (dispatcher: Dispatcher, report: (change: 1 | -1) => void): Dispatcher =>
  ({
    async request(options: Dispatcher.RequestOptions) {
      report(1);
      try {
        const response = await dispatcher.request(options);
        return { ...response, body: reported(response.body, () => report(-1)) };
      } catch (error) {
        report(-1);
        throw error;
      }
    },
  }) as unknown as Dispatcher; // all that the client uses

async function* reported(body: AsyncIterable<Uint8Array>, onEnd: () => void) {
  try {
    yield* body;
  } finally {
    onEnd();
  }
}
