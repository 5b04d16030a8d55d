import { listAnnotations } from "../../../../operations/annotations.ts";
import { getAppInfo, getEndUser } from "../../../../operations/apps.ts";
import { listConversations, listFeedback, listMessages } from "../../../../operations/chats.ts";
import { local, record, textChunks, withNamePath } from "../../../../operations/operation.ts";
import { userInQuery } from "../../../../operations/shared.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../../../operations/workflows.ts";
import { task } from "../../../task/command-spec.ts";
import { logFilters } from "../../../wf/logs/index.ts";

export const suiteSources = [
  "annotations",
  "conversations",
  "feedback",
  "logs",
  "rows",
  "promptfoo",
] as const;

export const testInitParams = {
  from: local.choice(suiteSources, "Where questions and answers come from (on a terminal: asks)"),
  file: local.text(
    "File of --from rows (questions and answers, CSV or JSON Lines) or promptfoo (configuration)",
  ),
  keyword: local.text("Only annotations or runs that contain this text"),
  created_at__after: logFilters.created_at__after,
  created_at__before: logFilters.created_at__before,
  created_by_end_user_session_id: logFilters.created_by_end_user_session_id,
  created_by_account: logFilters.created_by_account,
  where: logFilters.where,
  input: local.text("With a file: input of a workflow that gets the question", {
    placeholder: "name",
  }),
  kb: local.text("With --from rows: search this knowledge base for reference_contexts", {
    placeholder: "name",
  }),
  query: local.text("With --from promptfoo: variable that is the question, or prompt", {
    placeholder: "name",
  }),
  judge: local.text("With --from promptfoo: application that judges by its rubrics", {
    placeholder: "app",
  }),
  limit: local.integer("Maximum number of tests (default 100)", { range: [1, 10_000], short: "L" }),
  out: local.text("File to write (default: stdout)", { placeholder: "file", length: [1, 4096] }),
  user: userInQuery,
  overwrite: local.flag("Overwrite an existing file"),
} as const;

export const testInit = task({
  command: "wf test init [file]",
  action: "create tests",
  summary: "Create a suite of tests from questions and answers that exist",
  about:
    "annotations: all of them. conversations: the first message of each conversation of the end user; later\nones depend on it. feedback: liked messages without a dislike, after those before them in their\nconversation. logs: succeeded runs; short outputs are expected to be the same, otherwise the text is\nthe answer. rows: a file with columns such as question and answer, those of RAGAS, too. promptfoo: a\nconfiguration; assertions without an equivalent are listed, code is never run.\n\nThe same question becomes one test. The answers are drafts, compared by similarity: read them before\nyou rely on them.",
  params: testInitParams,
  returns: withNamePath("file", record("file tests duplicates skipped")),
  output: ({ out = "-" }) => (out === "-" ? textChunks : undefined),
  sends: [
    getAppInfo,
    listAnnotations,
    listConversations,
    listFeedback,
    getEndUser,
    listMessages,
    listWorkflowLogs,
    getWorkflowRun,
  ],
  effect: "reads",
  runsToEnd: true,
  examples: [
    "wf --app chat test init --from conversations --user ann --out asked.yaml",
    "wf --app echo test init --from logs --since 7d --limit 20",
    "wf --app chat test init --from rows annotations.csv",
    "wf --app chat test init --from promptfoo promptfooconfig.yaml --judge grader",
  ],
});
