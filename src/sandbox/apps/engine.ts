import {
  findApp,
  type AppDefinition,
  type EndNode,
  type HumanInputNode,
  type NodeDefinition,
  type ReviewsNode,
} from "./app-definitions.ts";
import type { Clock } from "../http/handler.ts";
import {
  type RunContext,
  completeNode,
  runContainer,
  endOutputs,
  newExecution,
  executeNode,
  variableAt,
} from "./nodes.ts";
import {
  workflowFinished,
  formRequired,
  humanInputNode,
  messageEvent,
  messageEnd,
  nodeFinished,
  nodeStarted,
  workflowPaused,
  type RunEvent,
  workflowStarted,
  textChunk,
  outputText,
} from "./run-events.ts";
import type { Execution, Form, RunStore, StoredRun } from "../storage/runs-store.ts";
import { atLeast } from "../http/router.ts";
import type { Channels } from "../http/sse.ts";

/** Runs applications in the background. */
export interface Engine {
  /**
   * Runs a stored run until it ends or waits for a person: gives `workflow_finished` or
   * `workflow_paused`. Never rejects.
   */
  go(run: StoredRun, reason: "initial" | "resumption", version: string): Promise<RunEvent>;
  /** Goes on with a paused run, unless a worker is at it: then nobody hears of the answer (server §14). */
  resume(run: StoredRun, version: string): void;
  /** Stops the live run of that task, if there is one and `mayStop` agrees. */
  stop(taskId: string, how: StopMode, mayStop: (run: StoredRun) => boolean): void;
  /** The run as it is in memory, while it runs. */
  live(runId: string): StoredRun | undefined;
  /** Goes on with what a former sandbox left unfinished, and watches its open forms. */
  reopen(): void;
  /** Ends all background work; what is stored stays as it is. */
  close(): void;
}

/** Does the record of a stopped run tell that it was? In the field are servers of both kinds. */
export type StopMode = "recorded" | "stays running";

/** ms until a stop takes effect, and what the record says then (server §13). */
const stopDelay = 300;
const stopped = "Aborted: User requested stop";
const stoppedByUser = "Stopped by user.";

/** ms until a worker takes up a run of several forms, and that it then needs at least. */
const pickUp = 20;
const reviewing = 150;

/** An engine that stores runs in `records` and tells their events to `channels`. */
export function openEngine(deps: {
  readonly records: RunStore;
  readonly channels: Channels;
  readonly clock: Clock;
  /** The version that is played where no request says which. */
  readonly version: string;
  /** Gets what the sandbox itself did wrong in a run, which ends as failed. */
  readonly bug: (error: unknown, where: string) => void;
}): Engine {
  const { records, channels, clock } = deps;
  const { now } = records;
  const active = new Map<string, { readonly run: StoredRun; readonly control: AbortController }>();
  const pickedUp = new Set<string>();
  const closing = new AbortController();

  const engine: Engine = {
    async go(run, reason, version) {
      const control = new AbortController();
      active.set(run.id, { run, control });
      const began = now();
      const bench: RunContext = {
        run,
        version,
        records,
        clock,
        signal: AbortSignal.any([control.signal, closing.signal]),
        publish: (event) => channels.publish(run, event),
      };
      try {
        return await segment(bench, reason, began);
      } catch (failure) {
        // The sandbox is closing: the stored run stays as it is and goes on when it opens again.
        if (closing.signal.aborted) return workflowFinished(run, began);
        if (control.signal.aborted) return halted(bench, began, control.signal.reason as StopMode);
        return broken(bench, began, failure);
      } finally {
        active.delete(run.id);
      }
    },

    resume(run, version) {
      if (active.has(run.id) || pickedUp.has(run.id)) return;
      const several = records.formsOf(run.id).length > 1;
      if (!several) return void engine.go(run, "resumption", version);
      pickedUp.add(run.id);
      later(pickUp, () => {
        pickedUp.delete(run.id);
        void engine.go(run, "resumption", version);
      });
    },

    stop(taskId, how, mayStop) {
      for (const { run, control } of active.values()) {
        if (run.taskId !== taskId || !mayStop(run)) continue;
        later(stopDelay, () => control.abort(how));
      }
    },

    live: (runId) => active.get(runId)?.run,

    reopen() {
      const unfinished = records.runsWith("running").filter(({ progress }) => !progress.lost);
      // Killed between the answer to a form and the run's going on.
      const answered = records
        .runsWith("paused")
        .filter((run) => records.formsOf(run.id).every(({ status }) => status !== "waiting"));
      for (const run of [...unfinished, ...answered])
        void engine.go(run, "resumption", deps.version);
      for (const form of records.waitingForms()) watch(form);
    },

    close: () => closing.abort(),
  };
  return engine;

  /** The run ends as failed even where the failure was ours, or the store's. */
  function broken(bench: RunContext, began: number, failure: unknown): RunEvent {
    deps.bug(failure, `the run ${bench.run.id} of ${bench.run.app}`);
    try {
      return ended(bench, began, "failed", `The sandbox failed: ${String(failure)}`);
    } catch {
      return workflowFinished(bench.run, began);
    }
  }

  function later(ms: number, then: () => void): void {
    clock.sleep(ms, closing.signal).then(then, () => {});
  }

  async function segment(
    bench: RunContext,
    reason: "initial" | "resumption",
    began: number,
  ): Promise<RunEvent> {
    const { run } = bench;
    const { progress } = run;
    const app = findApp(run.app);
    if (!app) return ended(bench, began, "failed", `There is no application ${run.app}.`);
    run.status = "running";
    progress.said = "";
    records.saveRun(run);

    bench.publish(workflowStarted(run, reason, began, segmentInputs(run, reason)));
    sayAnswer(bench, app);
    for (let node = app.nodes[progress.position]; node; node = app.nodes[progress.position]) {
      const outcome = await execute(bench, app, node);
      if (outcome.status === "paused") return pausedAt(bench, outcome.forms, began);
      if (outcome.status === "failed") return ended(bench, began, "failed", outcome.error ?? "");
      progress.position++;
      records.saveRun(run);
    }
    return ended(bench, began, progress.exceptions > 0 ? "partial-succeeded" : "succeeded", null);
  }

  async function execute(bench: RunContext, app: AppDefinition, node: NodeDefinition) {
    if (node.type === "reviews") return reviews(bench, app, node);
    const { progress } = bench.run;
    const execution = begun(bench, node);
    progress.steps++;
    if (node.type === "loop" || node.type === "iteration") {
      progress.variables[node.id] = await runContainer(bench, node);
      completeNode(bench, execution, "succeeded");
      sayOutputs(bench, app, node.id);
      return { status: "succeeded" } as const;
    }
    bench.publish(nodeStarted(execution));
    const result = await executeNode(bench, app, node, execution);
    completeNode(bench, execution, result.status);
    if (result.status === "paused") return result;
    progress.variables[node.id] = result.outputs;
    if (result.status !== "succeeded") progress.exceptions++;
    if (result.status !== "failed" && node.type !== "start") sayOutputs(bench, app, node.id);
    bench.publish(nodeFinished(execution, result));
    return result;
  }

  /** Every branch whose form is answered goes to its end; the run waits for the others. */
  async function reviews(bench: RunContext, app: AppDefinition, { branches }: ReviewsNode) {
    const { progress } = bench.run;
    const open = branches
      .filter(({ review }) => !(review.id in progress.variables))
      .map((branch) => ({ ...branch, execution: began(bench, branch.review) }));
    const forms: Form[] = [];
    for (const { review, end, execution } of open) {
      const result = await executeNode(bench, app, review, execution);
      completeNode(bench, execution, result.status);
      if (result.status === "paused") {
        forms.push(...result.forms);
        continue;
      }
      progress.variables[review.id] = result.outputs;
      sayEnd(bench, end, review.id);
      bench.publish(nodeFinished(execution, result));
      const last = began(bench, end);
      const outputs = endOutputs(end, progress.variables);
      completeNode(bench, last, "succeeded");
      bench.publish(nodeFinished(last, { status: "succeeded", inputs: outputs, outputs }));
    }
    if (forms.length === 0) return { status: "succeeded" } as const;
    await clock.sleep(reviewing, bench.signal);
    return { status: "paused", forms } as const;
  }

  function began(bench: RunContext, node: HumanInputNode | EndNode): Execution {
    const execution = begun(bench, node);
    bench.run.progress.steps++;
    bench.publish(nodeStarted(execution));
    return execution;
  }

  /** A node that waited, or that a kill cut short, goes on under its old id (server §15.6). */
  function begun(bench: RunContext, node: Exclude<NodeDefinition, ReviewsNode>): Execution {
    const { executions } = bench.run.progress;
    const known = executions.find(
      ({ nodeId, status }) => nodeId === node.id && (status === "paused" || status === "running"),
    );
    if (known) {
      known.startedAt = now();
      known.status = "running";
      return known;
    }
    const execution = newExecution(bench, node);
    executions.push(execution);
    return execution;
  }

  function ended(
    bench: RunContext,
    began: number,
    status: StoredRun["status"],
    error: string | null,
  ): RunEvent {
    const { run } = bench;
    close(run, began, status, error);
    saveSegment(run, "normal");
    if (run.messageId !== null) bench.publish(messageEnd(run, run.elapsed, bench.version));
    const event = workflowFinished(run, began, status === "stopped" ? toldOfStop(bench) : run);
    bench.publish(event);
    return event;
  }

  /** A run that was stopped. One that stays running is closed for its listeners alone. */
  function halted(bench: RunContext, began: number, how: StopMode): RunEvent {
    if (how === "recorded") return ended(bench, began, "stopped", stopped);
    const { run } = bench;
    run.progress.lost = true;
    saveSegment(run, "normal");
    const told = { ...run };
    close(told, began, "stopped", stoppedByUser);
    const event = workflowFinished(told, began);
    bench.publish(event);
    return event;
  }

  function close(
    run: StoredRun,
    began: number,
    status: StoredRun["status"],
    error: string | null,
  ): void {
    const { progress } = run;
    run.status = status;
    run.error = error;
    run.outputs = error === null ? outputsOf(run) : {};
    run.finishedAt = now();
    run.elapsed = (run.finishedAt - began) / 1000;
    run.totalSteps = progress.steps;
    run.exceptions = progress.exceptions;
  }

  /** The stream tells the stop in one of two ways, the older servers in one (server §13). */
  function toldOfStop({ version }: RunContext) {
    return atLeast(version, "1.15.0") && records.random() < 0.5
      ? ({ status: "stopped", error: stoppedByUser } as const)
      : ({ status: "failed", error: stopped } as const);
  }

  function pausedAt(bench: RunContext, forms: readonly Form[], began: number): RunEvent {
    const { run } = bench;
    run.status = "paused";
    run.totalSteps = run.progress.steps;
    saveSegment(run, "paused");
    for (const form of forms) watch(form);
    const open = forms.flatMap((form) => {
      const node = humanInputNode(run.app, form.nodeId);
      return node ? [{ form, node, content: form.content }] : [];
    });
    const told = { since: began, elapsed: (now() - began) / 1000, outputs: {} };
    const event = workflowPaused(run, open, bench.version, told);
    for (const each of open) bench.publish(formRequired(each, bench.version));
    bench.publish(event);
    return event;
  }

  function saveSegment(run: StoredRun, messageStatus: "normal" | "paused"): void {
    records.store.transaction(() => {
      records.saveRun(run);
      if (run.messageId !== null) {
        records.addAnswer(run.messageId, run.progress.said, messageStatus);
      }
    });
  }

  /** Closes the form when its time is over; the run then goes on without an answer. */
  function watch(form: Form): void {
    later(Math.max(0, form.expiresAt - now()), () => {
      if (records.form(form.app, form.token)?.status !== "waiting") return;
      records.closeForm(form.token, "expired", null, null);
      const run = records.run(form.app, form.runId);
      if (run?.status === "paused") engine.resume(run, deps.version);
    });
  }
}

/**
 * Texts that are known when a segment begins come before its nodes. Of a chatflow's answers only
 * the first is ever said, and each segment says it again (server §18).
 */
function sayAnswer(bench: RunContext, app: AppDefinition): void {
  const { run } = bench;
  const answer = app.nodes.find((node) => node.type === "answer");
  for (const part of answer?.parts ?? []) {
    const fixed = typeof part === "string";
    const text = fixed ? part : outputText(variableAt(run.progress.variables, part));
    run.progress.said += text;
    bench.publish(messageEvent(run, text, fixed ? [answer?.id ?? "", "answer"] : part));
  }
  const first = app.nodes[0];
  if (first && run.progress.position === 0) sayOutputs(bench, app, first.id);
}

/** The texts of the end node that this node has made known. */
function sayOutputs(bench: RunContext, app: AppDefinition, nodeId: string): void {
  const end = app.nodes.find((node) => node.type === "end");
  if (end) sayEnd(bench, end, nodeId);
}

function sayEnd(bench: RunContext, end: EndNode, nodeId: string): void {
  for (const selector of Object.values(end.outputs)) {
    if (selector[0] !== nodeId) continue;
    const text = outputText(variableAt(bench.run.progress.variables, selector));
    if (text !== "") bench.publish(textChunk(text, selector));
  }
}

/** A resumed chatflow counts its dialogue once more (recorded). */
function segmentInputs(run: StoredRun, reason: "initial" | "resumption"): StoredRun["inputs"] {
  const count = run.inputs["sys.dialogue_count"];
  if (reason === "initial" || typeof count !== "number") return run.inputs;
  return { ...run.inputs, "sys.dialogue_count": count + 1 };
}

/** What a run gives: the outputs of its end node, or all answers of a chatflow as one. */
function outputsOf(run: StoredRun): Record<string, unknown> {
  const { variables } = run.progress;
  const nodes = findApp(run.app)?.nodes ?? [];
  const ends = nodes.flatMap((node) =>
    node.type === "reviews" ? node.branches.map((branch) => branch.end) : node,
  );
  const outputs = ends.flatMap((node) =>
    node.type === "end" ? [endOutputs(node, variables)] : [],
  );
  if (outputs.length > 0) return Object.assign({}, ...outputs) as Record<string, unknown>;
  const answers = nodes
    .filter((node) => node.type === "answer")
    .map((node) => outputText(variables[node.id]?.["answer"]));
  return { answer: answers.join(""), files: [] };
}
