import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError } from "../../../errors.ts";
import type { Context } from "../../command-spec.ts";
import type { Keeper } from "./keep-recordings.ts";
import type { PlannedRun } from "./plan-runs.ts";
import type { RunJournal } from "./run-journal.ts";
import { runTest, testNotRun } from "./run-tests.ts";
import type { TestRun } from "./run-tests.ts";
import { TestBoard } from "./test-board.ts";

/** How runs of tests are carried out. */
export interface RunnerOptions {
  /** Requests at a time at first. */
  readonly start?: number | undefined;
  readonly failFast: boolean;
  readonly journal: RunJournal;
  readonly keeper: Keeper | undefined;
}

/** Carries out runs of tests, several at a time. What ends all of them is not thrown, but kept. */
export class TestRunner {
  readonly board: TestBoard;
  readonly #planned: readonly PlannedRun[];
  readonly #options: RunnerOptions;
  readonly #context: Context;
  #failed = false;
  #stopped: CliError | undefined;

  constructor(planned: readonly PlannedRun[], options: RunnerOptions, context: Context) {
    this.#planned = planned;
    this.#options = options;
    this.#context = context;
    this.board = new TestBoard(planned, context.host.elapsed);
  }

  /** The error that every further question would have met; undefined if there was none. */
  get stopped(): CliError | undefined {
    return this.#stopped;
  }

  /** The results in the order of the plan, each as soon as those before it are there. */
  async *results(): AsyncGenerator<TestRun> {
    const limiter = this.#context.limitConcurrency({ start: this.#options.start });
    yield* mapConcurrent(this.#planned, limiter, async (run) => {
      this.board.start(run);
      const result = await this.#resultOf(run);
      if (result.status === "failed" || result.status === "error") this.#failed = true;
      this.board.end(run, result);
      // A terminal that is redrawn shows the tests themselves.
      if (!this.#context.options.redraws) this.#context.progress(this.board.progress());
      return result;
    });
  }

  async #resultOf(run: PlannedRun): Promise<TestRun> {
    const { journal, keeper, failFast } = this.#options;
    const known = journal.known(run);
    if (known) return known;
    const { signal, abortError } = this.#context;
    if (signal.aborted) this.#stopped ??= abortError();
    if (this.#stopped || (failFast && this.#failed)) return testNotRun(run);
    try {
      const result = await runTest(run, keeper?.tape(run), {
        started: journal.started(run),
        onStart: (id) => journal.addStart(run, id),
      });
      await journal.add(run, result);
      return result;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      this.#stopped ??= error;
      return testNotRun(run);
    }
  }
}
