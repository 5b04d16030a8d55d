import { CliError } from "../../../errors.ts";
import { valueAt } from "../../../lib/json.ts";
import { backoff, delays } from "../../../lib/backoff.ts";
import {
  disableAnnotationReply,
  enableAnnotationReply,
  getAnnotationReplyStatus,
} from "../../../operations/annotations.ts";
import type { ReplyStatus } from "../../../operations/annotations.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { embeddingModel } from "../../models/index.ts";
import { commandLine } from "../../../lib/command-line.ts";

type Action = "enable" | "disable";

type ToggleInput = InputOf<typeof enableAnnotationReply> & {
  readonly wait?: boolean | undefined;
};

/** ms to wait for a job to begin: a job that would change nothing never does (server §18). */
const MAX_PENDING = 60_000;

/** `wf annotation reply enable` and `disable`: starts the job; with --wait also waits for its end. */
const toggle = (action: Action) => ({
  async *run({ wait, ...input }: ToggleInput, context: Context): AsyncGenerator<unknown> {
    if (action === "enable") await requireModel(input, context);
    const operation = action === "enable" ? enableAnnotationReply : disableAnnotationReply;
    const { job_id, job_status } = await context.api.call(operation, input);
    const job = wait ? await waitForJob(action, job_id, context) : undefined;
    yield job ?? { job_id, job_status };
    if (job) requireSuccess(job);
  },
});
export const enable = toggle("enable");
export const disable = toggle("disable");

/** `wf annotation reply status`: yields the status of the job; throws if it failed. */
export const status = {
  async *run(
    input: InputOf<typeof getAnnotationReplyStatus>,
    context: Context,
  ): AsyncGenerator<ReplyStatus> {
    const job = await context.api.call(getAnnotationReplyStatus, input);
    yield job;
    requireSuccess(job);
  },
};

/**
 * Throws not-found for a model that the workspace does not have: its job fails, and annotations answer
 * nothing from then on. Only a knowledge key can list models (server §17).
 */
async function requireModel(input: ToggleInput, context: Context): Promise<void> {
  const model = `${input.embedding_provider_name}/${input.embedding_model_name}`;
  try {
    await embeddingModel(model, context.with({ key: "dataset" }));
  } catch (error) {
    if (!(error instanceof CliError) || context.host.signal.aborted) throw error;
    const active = valueAt(error.info.details, "active");
    if (Array.isArray(active) && active.length > 0) throw error;
    await context.notice(`the embedding model ${model} was not checked: ${error.message}`);
  }
}

async function waitForJob(action: Action, job_id: string, context: Context): Promise<ReplyStatus> {
  const { host } = context;
  const start = host.elapsed();
  for (let attempt = 0; ; attempt++) {
    const job = await context.api.call(getAnnotationReplyStatus, { action, job_id });
    if (job.job_status === "completed" || job.job_status === "error") return job;
    const elapsed = host.elapsed() - start;
    if (job.job_status === "waiting" && elapsed >= MAX_PENDING) {
      const seconds = Math.round(elapsed / 1000);
      throw new CliError("deadline", `job ${job_id} has not started after ${seconds}s`, {
        details: job,
        sideEffect: "unknown",
        hint: `look again later: ${commandLine("wf annotation reply status", [action, job_id])}`,
      });
    }
    await context.pause(backoff(attempt, delays.job));
  }
}

function requireSuccess({ job_id, job_status, error_msg }: ReplyStatus): void {
  if (job_status !== "error") return;
  throw new CliError("remote-failed", `job ${job_id} failed: ${error_msg ?? "no reason given"}`, {
    isResult: true,
  });
}
