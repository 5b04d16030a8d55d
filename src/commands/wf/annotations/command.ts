import {
  disableAnnotationReply,
  enableAnnotationReply,
  getAnnotationReplyStatus,
} from "../../../operations/annotations.ts";
import { local } from "../../../operations/operation.ts";
import { task } from "../../task/command-spec.ts";

const replyJob = <O extends typeof enableAnnotationReply | typeof disableAnnotationReply>(
  operation: O,
  verb: "enable" | "disable",
  more: { readonly about?: string; readonly example: string },
) => {
  const line = `wf --app chat annotation reply ${verb} --embedding-provider-name langgenius/openai/openai --embedding-model-name text-embedding-3-small --score-threshold`;
  return task({
    command: `wf annotation reply ${verb}`,
    summary: `Start the job that ${verb}s annotation replies`,
    ...(more.about !== undefined && { about: more.about }),
    params: { ...operation.params, wait: local.flag("Wait until the job is done") },
    returns: getAnnotationReplyStatus.returns,
    sends: [getAnnotationReplyStatus],
    wraps: operation,
    effect: "writes",
    exits: ["remote-failed", "deadline"],
    examples: [`${line} 0.9`, `${line} ${more.example}`],
  });
};

export const replyEnable = replyJob(enableAnnotationReply, "enable", { example: "0.8 -o name" });

export const replyDisable = replyJob(disableAnnotationReply, "disable", {
  about: "The job never starts if annotation replies are not enabled.",
  example: "0.9 --dry-run",
});

export const replyStatus = task({
  command: "wf annotation reply status <action> <job>",
  tool: {},
  summary: "Show the status of an annotation reply job",
  about: "Exits with code 9 if the job failed.",
  params: getAnnotationReplyStatus.params,
  wraps: getAnnotationReplyStatus,
  effect: "reads",
  exits: ["remote-failed"],
  examples: [
    "wf --app chat annotation reply status enable $JOB",
    "wf --app chat annotation reply status enable $JOB --jq .job_status",
  ],
});
