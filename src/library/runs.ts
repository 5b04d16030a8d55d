import type {
  FollowRunOptions,
  JsonObject,
  Run,
  RunEvent,
  RunResult,
} from "../../types/index.d.ts";
import type { ApiClient } from "../api/client.ts";
import type { ClientSetup } from "../api/calls.ts";
import type { Values } from "../api/request.ts";
import { abortError, CliError } from "../errors.ts";
import { followRun } from "../follow/follow.ts";
import type { FollowResult } from "../follow/follow.ts";
import { startStream } from "../follow/open-stream.ts";
import type { EventStream } from "../follow/open-stream.ts";
import type { Following } from "../follow/run-state.ts";
import { isObject, tryParseJson } from "../lib/json.ts";
import { resultOfStream } from "../lib/pipe.ts";
import { getWorkflowRun, runWorkflow, runWorkflowById } from "../operations/workflows.ts";

/** The methods of a client that follow runs, as `wf events --follow` and `wf run` do. */
export function runsOf(api: ApiClient, setup: ClientSetup) {
  return {
    follow: (runId: string, options: FollowRunOptions = {}) =>
      new FollowedRun(followingOf(api, setup, options.signal), options, () => ({ runId })),
    run(inputs: Values, { workflowId, body, ...options }: FollowRunOptions & StartOptions = {}) {
      const following = followingOf(api, setup, options.signal);
      return new FollowedRun(following, options, async () => {
        const sent = { ...body, inputs };
        const first =
          workflowId === undefined
            ? await startStream(runWorkflow, sent, following)
            : await startStream(runWorkflowById, { ...sent, workflow_id: workflowId }, following);
        return { first, isOwn: true };
      });
    },
  };
}

/** How a run is started. */
interface StartOptions {
  readonly workflowId?: string;
  readonly body?: Values;
}

/** Which run it is, or the stream that started it. */
type Begin = { readonly runId: string } | { readonly first: EventStream; readonly isOwn: true };

function followingOf(api: ApiClient, setup: ClientSetup, own?: AbortSignal): Following {
  const signal = own ? AbortSignal.any([own, setup.signal]) : setup.signal;
  return {
    api: api.with({ signal }),
    signal,
    host: setup,
    notice: (text) => setup.notice(text),
    trace: () => Promise.resolve(),
    pause: (ms) =>
      setup.sleep(ms, signal).catch(() => {
        throw abortError(signal);
      }),
    hasTimeout: false,
    seenEnd: () => Promise.resolve(undefined),
  };
}

/** A run: its events when it is iterated, once; its result when `result` is awaited. */
class FollowedRun implements Run {
  readonly #following: Following;
  readonly #options: FollowRunOptions;
  readonly #begin: () => Begin | Promise<Begin>;
  readonly #ended: Promise<RunResult>;
  #resolve: (result: RunResult) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #isRead = false;

  constructor(
    following: Following,
    options: FollowRunOptions,
    begin: () => Begin | Promise<Begin>,
  ) {
    this.#following = following;
    this.#options = options;
    this.#begin = begin;
    this.#ended = new Promise((resolve, reject) => {
      [this.#resolve, this.#reject] = [resolve, reject];
    });
    this.#ended.catch(() => {}); // an iterating caller gets the error there
  }

  get result(): Promise<RunResult> {
    if (!this.#isRead) void resultOfStream(this[Symbol.asyncIterator]()).catch(() => {});
    return this.#ended;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    if (this.#isRead) throw new Error("the events of a run can be read once");
    this.#isRead = true;
    try {
      this.#resolve(yield* this.#events());
    } catch (error) {
      this.#reject(error);
      throw error;
    } finally {
      // Only the first of these counts.
      this.#reject(new CliError("interrupted", "its events were not read to the end of the run"));
    }
  }

  async *#events(): AsyncGenerator<RunEvent, RunResult> {
    const { throughPauses = false } = this.#options;
    const begin = await this.#begin();
    const options = { ...begin, reconnect: true, throughPauses, snapshot: true };
    const batches = followRun(options, this.#following);
    let outputs: unknown;
    try {
      for (;;) {
        const { done, value } = await batches.next();
        if (done) return await this.#resultOf(value, outputs);
        for (const { event, data, fields } of value) {
          if (event === "workflow_finished") ({ outputs } = fields);
          yield data as RunEvent;
        }
      }
    } finally {
      if ("first" in begin) begin.first.close();
    }
  }

  async #resultOf(
    { runId, outcome: { status, error, forms = [] } }: FollowResult,
    seen: unknown,
  ): Promise<RunResult> {
    // The end may be known from the record only, in which outputs can be a text.
    const read = () => this.#following.api.call(getWorkflowRun, { workflow_run_id: runId });
    const found = isObject(seen) || status === "paused" ? seen : (await read()).outputs;
    const outputs = typeof found === "string" ? tryParseJson(found) : found;
    return {
      runId,
      status,
      error: error ?? null,
      forms,
      outputs: isObject(outputs) ? (outputs as JsonObject) : {},
    };
  }
}
