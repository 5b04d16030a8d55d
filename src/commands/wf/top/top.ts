import { settingsFor } from "../../../config/settings.ts";
import { CliError, usage } from "../../../errors.ts";
import type { FullScreen } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { promptsForForms } from "../forms/index.ts";
import { run as openRunPage } from "../app/index.ts";
import type { topParams } from "./command.ts";
import { pressKey, selectedRun, shownRuns } from "./state.ts";
import type { TopAction, TopView, TopRun, TopState } from "./state.ts";
import { RunMonitor } from "./monitor.ts";
import { topScreen, topText } from "./screen.ts";

/** ms between two reports that are printed one below the other. */
const PRINT_INTERVAL = 10_000;
/** ms after which the times on the screen advance. */
const TICK = 1000;
/** Rows of the screen besides those of the runs, and rows of a terminal of unknown height. */
const OTHER_ROWS = 7;
const DEFAULT_ROWS = 24;
/** Runs of a report that is printed. */
const PRINTED_ROWS = 50;

/**
 * Yields what the dashboard shows: on a terminal after each key, event and second, until `q`;
 * otherwise every ten seconds, until an interrupt.
 */
export async function* run(
  { all_apps: all }: Input<typeof topParams>,
  context: Context,
): AsyncGenerator<Report> {
  const monitor = await monitorsOf(all === true, context);
  const reading = monitor.read();
  reading.catch(() => {}); // thrown where it is awaited
  try {
    // Before the first response there is nothing to show, and an error should stay on the screen.
    await Promise.race([monitor.changed(), reading]);
    const dashboard = new Dashboard(monitor, reading, context);
    const hasKeys = context.options.redraws && context.host.stdin.isTTY;
    yield* hasKeys ? dashboard.interactive() : dashboard.printed();
  } finally {
    monitor.stop();
  }
}

/** The applications of --app, or all of the profile. Throws usage if it has none. */
async function monitorsOf(all: boolean, context: Context): Promise<RunMonitors> {
  const { flags } = context.options;
  const { apps: known, app } = await settingsFor(flags, context.host, { key: "app" });
  const { apps: given = [], app: one } = flags;
  if (all && one !== undefined) throw usage("--all-apps and --app cannot be used together");
  if (all && known.length === 0)
    throw usage("the profile has no applications", `add one: ${commandLine("wf login")}`);
  const apps = [...new Set(all ? known : given)];
  return new RunMonitors(context, apps.length < 2 && !all ? [] : apps, app.value);
}

class Dashboard {
  readonly #monitor: RunMonitors;
  /** Rejects if reading failed. */
  readonly #reading: Promise<never>;
  readonly #context: Context;
  #view: TopView = { selected: undefined, follows: false };

  constructor(monitor: RunMonitors, reading: Promise<never>, context: Context) {
    this.#monitor = monitor;
    this.#reading = reading;
    this.#context = context;
  }

  async *printed(): AsyncGenerator<Report> {
    const { host, pause, options } = this.#context;
    const timeZone = options.timeZone();
    const clock = new Intl.DateTimeFormat("sv-SE", { timeStyle: "medium", timeZone });
    for (;;) {
      const now = host.now();
      const time = `${clock.format(now)} (${timeZone})`;
      yield topText(this.#monitor.state(), time, { now, rows: PRINTED_ROWS });
      await Promise.race([pause(PRINT_INTERVAL), this.#reading]);
    }
  }

  async *interactive(): AsyncGenerator<Report> {
    const { host } = this.#context;
    let screen = await host.fullScreen();
    try {
      let key = nextKey(screen);
      for (;;) {
        // The selection stays with its run when others appear above it.
        const selected = this.#selected()?.id;
        const follows = this.#view.follows && selected !== undefined;
        this.#view = { ...this.#view, selected, follows };
        this.#monitor.prefer(selected);
        yield this.#frame();
        const pressed = await this.#change(key);
        if (pressed === undefined) continue;
        const runs = shownRuns(this.#monitor.state(), this.#second());
        const { view, action } = pressKey(pressed, this.#view, runs);
        this.#view = view;
        if (action === "quit") return;
        if (action !== undefined) {
          screen.leave();
          const message = await this.#act(action);
          this.#view = { ...this.#view, message };
          screen = await host.fullScreen();
        }
        key = nextKey(screen);
      }
    } finally {
      screen.leave();
    }
  }

  #frame(): Report {
    const { host } = this.#context;
    const rows = (host.stdout.terminal?.rows ?? DEFAULT_ROWS) - OTHER_ROWS;
    const place = { now: host.now(), rows: Math.max(1, rows) };
    return topScreen(this.#monitor.state(), this.#view, place);
  }

  /** Waits for a key, an event or the next second; resolves to the key. */
  async #change(key: Promise<string>): Promise<string | undefined> {
    const { host } = this.#context;
    const waiting = new AbortController();
    const tick = host.sleep(TICK, AbortSignal.any([waiting.signal, host.signal])).catch(() => {});
    const others = [this.#monitor.changed(), tick, this.#reading];
    const pressed = await Promise.race([key, ...others]);
    waiting.abort();
    if (host.signal.aborted) throw this.#context.abortError();
    return pressed ?? undefined;
  }

  #second(): number {
    return Math.floor(this.#context.host.now().getTime() / 1000);
  }

  #selected(): TopRun | undefined {
    return selectedRun(this.#view, this.#monitor.state(), this.#second());
  }

  /** Submits one form of a run by prompts. */
  async #answer(run: TopRun): Promise<string> {
    const { forms = [] } = this.#monitor.state().events.get(run.id) ?? {};
    if (forms.length === 0) return "the run is not waiting for a form";
    const answer = promptsForForms(this.#monitor.contextOf(run));
    if (!answer) return "prompts are disabled (--no-input or CI)";
    const result = await answer(forms);
    return result === true ? "the form was submitted" : result || "the run stays paused";
  }

  /** Does what a key asks for, on the normal screen; resolves to the result. */
  async #act(action: Exclude<TopAction, "quit">): Promise<string | undefined> {
    const run = this.#selected();
    if (run === undefined) return undefined;
    try {
      return await (action === "open"
        ? openRun(run, this.#monitor.contextOf(run))
        : this.#answer(run));
    } catch (error) {
      if (!(error instanceof CliError) || this.#context.host.signal.aborted) throw error;
      return error.kind === "interrupted" ? "the run stays paused" : error.message;
    }
  }
}

/** Opens the page of a run; resolves to its address if that failed, otherwise to what happened. */
async function openRun({ id }: TopRun, context: Context): Promise<string> {
  let address = `opened the page of run ${id}`;
  for await (const url of openRunPage({ workflow_run_id: id, print: undefined }, context))
    address = url;
  return address;
}

/** The next key; never after the screen was left. */
async function nextKey({ keys }: FullScreen): Promise<string> {
  for await (const key of keys) return key;
  return new Promise(() => {});
}

/** ms between two requests to an application: a dashboard should not load a server. */
const REQUEST_INTERVAL = 2000;
/** ms between two requests to different applications. */
const MIN_INTERVAL = 500;
/** Streams open at once: a default server serves ten connections (server §20). */
const MAX_STREAMS = 4;

/** Reads several applications in turn: one request at a time, and the same streams as for one. */
class RunMonitors {
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
    const { host, abortError } = this.#context;
    for (;;) {
      const read = this.#all.filter(({ isUnlogged, lost }) => !isUnlogged && !lost);
      if (read.length === 0) throw noLogs();
      const interval = Math.max(MIN_INTERVAL, REQUEST_INTERVAL / Math.max(1, read.length));
      for (const monitor of read) {
        await this.#step(monitor);
        this.#wake();
        await host.sleep(interval, AbortSignal.any([host.signal, this.#end.signal])).catch(() => {
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
      if (isLast || isWrong || this.#context.host.signal.aborted) throw error;
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
