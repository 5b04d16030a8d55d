import { setMaxListeners } from "node:events";
import { ruleModel } from "../../models/language-model.ts";
import type { StoredForm, StoredRun } from "../records/runs-store.ts";
import type { Channels } from "./event-stream.ts";
import type { RunBasics, RunContext } from "../nodes/node.ts";
import type { Applications } from "../definitions/applications.ts";
import { endRun, runSegment, type SegmentReason, type StopMode, stopRun } from "./segment.ts";
import { type RunEvent, runEvent } from "../../protocol/fill.ts";

/** ms until a stop takes effect (server §13). */
const STOP_DELAY = 300;

/** ms until a worker picks up a run with several forms. */
const PICK_UP_DELAY = 20;

/** What the engine needs; its version is imitated if no request determines one. */
export interface EngineOptions extends RunBasics {
  readonly applications: Applications;
  readonly channels: Channels;
  /** Called with each internal error of a run; the run ends as failed. */
  readonly onError: (error: unknown, where: string) => void;
}

/** Runs applications in the background: stores runs in `records`, publishes events to `channels`. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #active = new Map<string, { run: StoredRun; control: AbortController }>();
  /** IDs of runs that a worker is about to resume. */
  readonly #pickedUp = new Set<string>();
  readonly #closing = new AbortController();

  constructor(options: EngineOptions) {
    this.#options = options;
    // Each paused run listens for it; Node would warn of a leak at the eleventh.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Runs a stored run until it ends or pauses; returns the event of that. Never rejects. */
  async run(run: StoredRun, reason: SegmentReason, version: string): Promise<RunEvent> {
    const { applications, channels, ...basics } = this.#options;
    const { records, clock, model } = basics;
    const control = new AbortController();
    this.#active.set(run.id, { run, control });
    const context: RunContext = {
      ...basics,
      app: applications.get(run.app),
      run,
      version,
      model: run.progress.drawn ? ruleModel(clock, run.progress.drawn) : model,
      startedAt: records.now(),
      signal: AbortSignal.any([control.signal, this.#closing.signal]),
      publish: (event) => channels.publish(run, event),
      watchForm: (form) => this.#watchForm(form),
    };
    try {
      return await runSegment(context, reason).catch((error: unknown) => {
        if (!control.signal.aborted || this.#closing.signal.aborted) throw error;
        return stopRun(context, control.signal.reason as StopMode);
      });
    } catch (error) {
      // The sandbox is closing: the stored run stays as it is and resumes on the next start.
      if (this.#closing.signal.aborted) return unpublishedEnd(context);
      return this.#failRun(context, error);
    } finally {
      this.#active.delete(run.id);
    }
  }

  /** Resumes a paused run, unless a worker is at it, which sees no form that is submitted now (server §14). */
  resume(run: StoredRun, version: string): void {
    if (this.#active.has(run.id) || this.#pickedUp.has(run.id)) return;
    if (this.#options.records.forms.count({ run_id: run.id }) <= 1) {
      void this.run(run, "resumption", version);
      return;
    }
    this.#pickedUp.add(run.id);
    this.#schedule(PICK_UP_DELAY, () => {
      this.#pickedUp.delete(run.id);
      void this.run(run, "resumption", version);
    });
  }

  /** Stops the active run of a task if `mayStop` agrees. */
  stop(taskId: string, mode: StopMode, mayStop: (run: StoredRun) => boolean): void {
    for (const { run, control } of this.#active.values()) {
      if (run.task_id !== taskId || !mayStop(run)) continue;
      this.#schedule(STOP_DELAY, () => control.abort(mode));
    }
  }

  /** Returns the run as it is in memory while it is active. */
  activeRun(runId: string): StoredRun | undefined {
    return this.#active.get(runId)?.run;
  }

  /** Resumes the runs that an earlier sandbox left unfinished, and watches their open forms. */
  resumeUnfinished(): void {
    const { records, version } = this.#options;
    const { runs, forms } = records;
    const interrupted = runs.list({ status: "running" }).filter(({ progress }) => !progress.lost);
    // The sandbox was killed after a form was submitted and before the run resumed.
    const submitted = runs
      .list({ status: "paused" })
      .filter(({ id }) => forms.count({ run_id: id, status: "waiting" }) === 0);
    for (const run of [...interrupted, ...submitted]) void this.run(run, "resumption", version);
    for (const form of forms.list({ status: "waiting" })) this.#watchForm(form);
  }

  /** Ends all background work; stored runs stay as they are. */
  close(): void {
    this.#closing.abort();
  }

  /** Ends a run as failed after an error of the sandbox itself or of its store. */
  #failRun(context: RunContext, error: unknown): RunEvent {
    const { run } = context;
    this.#options.onError(error, `the run ${run.id} of ${run.app}`);
    try {
      return endRun(context, "failed", `The sandbox failed: ${String(error)}`);
    } catch {
      return unpublishedEnd(context);
    }
  }

  /** Expires a form when its time is over; the run then resumes without its inputs. */
  #watchForm(form: StoredForm): void {
    const { records, version } = this.#options;
    this.#schedule(Math.max(0, form.expires_at - records.now()), () => {
      const { token, run_id } = form;
      if (!records.forms.find({ token, status: "waiting" })) return;
      records.forms.update({ token }, { status: "expired" });
      const run = records.runs.find({ id: run_id, status: "paused" });
      if (run) this.resume(run, version);
    });
  }

  /** Runs a task later, unless the sandbox closes before. */
  #schedule(ms: number, task: () => void): void {
    const { clock, onError } = this.#options;
    clock
      .sleep(ms, this.#closing.signal)
      .then(task, () => {})
      .catch((error: unknown) => onError(error, "background work"));
  }
}

const unpublishedEnd = ({ run, startedAt }: RunContext): RunEvent =>
  runEvent("workflow_finished", { run, since: startedAt });
