import { CliError } from "../../errors.ts";
import {
  disableAnnotationReply,
  enableAnnotationReply,
  getAnnotationReplyStatus,
} from "../../operations/annotations.ts";
import type { ReplyStatus } from "../../operations/annotations.ts";
import type { InputOf } from "../../operations/operation.ts";
import type { Context } from "../command-spec.ts";

type Action = "enable" | "disable";

/** Input of `wf annotation reply enable` and `disable`. */
type SwitchInput = InputOf<typeof enableAnnotationReply> & {
  readonly wait?: boolean | undefined;
};

/** ms between two looks. */
const first = 300;
const longest = 2000;
/** ms for which a job may wait to begin: one that would change nothing never does (server §18). */
const patience = 60_000;

/** `wf annotation reply enable`. */
export const enable = {
  run: (input: SwitchInput, context: Context) => switched("enable", input, context),
};

/** `wf annotation reply disable`. */
export const disable = {
  run: (input: SwitchInput, context: Context) => switched("disable", input, context),
};

/** `wf annotation reply status`: how far the job is, and what became of it. */
export const status = {
  async *run(
    input: InputOf<typeof getAnnotationReplyStatus>,
    context: Context,
  ): AsyncGenerator<ReplyStatus> {
    const job = await context.call(getAnnotationReplyStatus, input);
    yield job;
    requireDone(job);
  },
};

/** Starts the job; with --wait ends with what became of it. */
async function* switched(
  action: Action,
  { wait, ...input }: SwitchInput,
  context: Context,
): AsyncGenerator<unknown> {
  const row = action === "enable" ? enableAnnotationReply : disableAnnotationReply;
  const { job_id, job_status } = await context.call(row, input);
  if (!wait) {
    yield { job_id, job_status };
    return;
  }
  const job = await ended(action, job_id, context);
  yield job;
  requireDone(job);
}

async function ended(action: Action, job_id: string, context: Context): Promise<ReplyStatus> {
  const { host } = context;
  const began = host.elapsed();
  for (let pause = first; ; pause = Math.min(longest, pause * 2)) {
    const job = await context.call(getAnnotationReplyStatus, { action, job_id });
    if (job.job_status === "completed" || job.job_status === "error") return job;
    const seconds = Math.round((host.elapsed() - began) / 1000);
    if (job.job_status === "waiting" && host.elapsed() - began >= patience) {
      throw new CliError("deadline", `job ${job_id} has not begun after ${seconds} s`, {
        details: job,
        sideEffect: "unknown",
        hint: `wf annotation reply status ${action} ${job_id}`,
      });
    }
    await host.sleep(pause, context.signal).catch(() => {
      throw context.abortError();
    });
  }
}

function requireDone({ job_id, job_status, error_msg }: ReplyStatus): void {
  if (job_status !== "error") return;
  throw new CliError("remote-failed", `job ${job_id} failed: ${error_msg ?? "no reason given"}`, {
    isResult: true,
  });
}
