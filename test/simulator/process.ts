import type { Dispatcher } from "undici";
import { run } from "../../src/cli/run.ts";
import type { Output, RawHost } from "../../src/host/host.ts";
import type { Disk } from "./disk.ts";
import { simulatedFiles } from "./disk.ts";
import { simulatedDispatcher } from "./network.ts";
import { ORIGIN, START } from "./server.ts";
import type { World } from "./world.ts";

/** A machine: a disk and a clock that its processes share. */
export interface Machine {
  readonly disk: Disk;
  /** ms by which its clock is wrong. */
  clockOffset: number;
}

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

/** A run of a program with everything outside it simulated. */
export class SimulatedProcess {
  readonly name: string;
  readonly pid: number;
  readonly argv: readonly string[];
  readonly ended: Promise<Ended>;
  isAlive = true;
  out = "";
  err = "";
  /** Requests that it has sent and whose responses it has not read. */
  inFlight = 0;
  readonly #world: World;
  readonly #options: ProcessOptions;
  readonly #counts = new Map<string, number>();
  readonly #interrupted = new AbortController();
  #resolve: (ended: Ended) => void = () => {};

  constructor(world: World, pid: number, argv: readonly string[], options: ProcessOptions) {
    this.#world = world;
    this.#options = options;
    this.name = options.name;
    this.pid = pid;
    this.argv = argv;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
    world.note(`${this.name}: ${argv.join(" ")}`);
    void run(argv, this.#host()).then((exit) => this.#end(exit));
  }

  /** Ends the process at once. */
  kill(): void {
    this.#end(null);
  }

  /** Sends Ctrl-C. */
  interrupt(): void {
    this.#interrupted.abort("SIGINT");
  }

  #end(exit: number | null): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    const { out, err } = this;
    this.#world.note(`${this.name}: ended with ${exit ?? "a kill"}`);
    this.#world.note(`${out}${err}`);
    this.#resolve({ exit, out, err });
  }

  /** Waits for the turn of a step outside the program; never returns once the process has ended. */
  async #step(step: string, ms = STEP_MS): Promise<string> {
    const { timeline, faults } = this.#world;
    const count = (this.#counts.get(step) ?? 0) + 1;
    this.#counts.set(step, count);
    const place = `${this.name}: ${step} ${count}`;
    await timeline.wait(this.#random(`duration of ${place}`) * ms);
    if (this.isAlive && faults.strikes("kill", place)) this.kill();
    if (!this.isAlive) await new Promise(() => {});
    if (faults.strikes("interrupt", place)) this.interrupt();
    if (faults.strikes("clock jump", place)) {
      const hours = this.#random(`jump at ${place}`) * 4 - 2;
      this.#options.machine.clockOffset += Math.round(hours * 3_600_000);
    }
    this.#world.note(place);
    return place;
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
      strikes: (kind, place) => faults.strikes(kind, place),
      random: (words) => this.#random(words),
      note: (text) => this.#world.note(text),
    });
    return {
      env: { TZ: "UTC", KB_BASE_URL: `${ORIGIN}/v1`, ...env },
      platform: "v20.19.0 simulator",
      cwd: "/home/user",
      binDirectory: undefined,
      licenses: none("licenses"),
      pathSeparator: ":",
      process: { pid: this.pid, isAlive: (pid) => this.#world.isAlive(pid) },
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
        step: (step) => this.#step(step),
        isFull: (place) => faults.strikes("full disk", place),
        random: (place) => this.#random(`name at ${place}`).toString(16).slice(2, 10),
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
          counted(dispatcher, (change) => {
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
