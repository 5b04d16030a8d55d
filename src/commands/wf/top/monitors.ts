import { CliError } from "../../../errors.ts";
import type { Context } from "../../task/command-spec.ts";
import { RunMonitor } from "./monitor.ts";
import type { TopRun, TopState } from "./state.ts";

/** ms between two requests to an application: a dashboard should not load a server. */
const REQUEST_INTERVAL = 2000;
/** ms between two requests to different applications. */
const MIN_INTERVAL = 500;
/** Streams open at once: a default server serves ten connections (server §20). */
const MAX_STREAMS = 4;

/** Reads several applications in turn: one request at a time, and the same streams as for one. */
export class RunMonitors {
  readonly #context: Context;
  readonly #all: readonly RunMonitor[];
  readonly #end = new AbortController();
  #wake: () => void = () => {};

  /** Without names, the application of the command line. */
  constructor(context: Context, apps: readonly string[], app: string | undefined) {
    this.#context = context;
    const common = {
      isOnly: apps.length < 2,
      mayOpen: () => this.#all.reduce((sum, { streams }) => sum + streams, 0) < MAX_STREAMS,
      onChange: () => this.#wake(),
    };
    this.#all =
      apps.length === 0
        ? [new RunMonitor(context, { ...common, app })]
        : apps.map((name) => new RunMonitor(context.with({ app: name }), { ...common, app: name }));
  }

  /** The runs of all applications. */
  state(): TopState {
    const states = this.#all.map((monitor) => ({ monitor, ...monitor.state() }));
    const isMany = this.#all.length > 1;
    const problems = states.flatMap(({ monitor, problem }) =>
      problem === undefined ? [] : [isMany ? `${monitor.place.app}: ${problem}` : problem],
    );
    const names = (isUnlogged: boolean) =>
      this.#all.flatMap((each) => (each.isUnlogged === isUnlogged ? (each.place.app ?? []) : []));
    return {
      apps: names(false),
      unlogged: names(true),
      runs: states.flatMap(({ runs }) => runs),
      events: new Map(states.flatMap(({ events }) => [...events])),
      isWholeHour: states.every((each) => each.isWholeHour),
      problem: problems.length === 0 ? undefined : problems.join("; "),
    };
  }

  /** The context with the application of a run. */
  contextOf({ app }: TopRun): Context {
    return this.#all.find(({ place }) => place.app === app)?.context ?? this.#context;
  }

  /** The run whose events are read first. */
  prefer(run: string | undefined): void {
    for (const monitor of this.#all) monitor.preferred = run;
  }

  /** Resolves when the state has changed. */
  changed(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  /** Reads until `stop`. Throws if no application can be read. */
  async read(): Promise<never> {
    const { host, signal, abortError } = this.#context;
    for (;;) {
      const read = this.#all.filter(({ isUnlogged, lost }) => !isUnlogged && !lost);
      if (read.length === 0) throw noLogs();
      const interval = Math.max(MIN_INTERVAL, REQUEST_INTERVAL / Math.max(1, read.length));
      for (const monitor of read) {
        await this.#step(monitor);
        this.#wake();
        await host.sleep(interval, AbortSignal.any([signal, this.#end.signal])).catch(() => {
          throw abortError();
        });
      }
    }
  }

  /** One of several applications that cannot be read is skipped from then on. */
  async #step(monitor: RunMonitor): Promise<void> {
    try {
      await monitor.step();
    } catch (error) {
      const isLast = this.#all.every((each) => each === monitor || each.lost || each.isUnlogged);
      const isWrong = !(error instanceof CliError) || error.kind === "usage";
      if (isLast || isWrong || this.#context.signal.aborted) throw error;
      monitor.lost = error;
    }
  }

  /** Closes the streams. */
  stop(): void {
    this.#end.abort();
    for (const monitor of this.#all) monitor.stop();
  }
}

const noLogs = () =>
  new CliError("unsupported", "only workflows have logs; none of these applications is one", {
    sideEffect: "none",
  });
