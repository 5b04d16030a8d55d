import { rows, tasks } from "../task/command-spec.ts";
import type { Context, Feature } from "../task/command-spec.ts";
import type { ChosenArgument } from "../task/command-rules.ts";

/** What `wf` can do. */
export const workflowFeatures: readonly Feature[] = [
  rows("form", () => import("../../operations/forms.ts")),
  rows("file audio", () => import("../../operations/files.ts")),
  rows("conversation message feedback text", () => import("../../operations/chats.ts")),
  rows("app user", () => import("../../operations/apps.ts")),
  rows("annotation", () => import("../../operations/annotations.ts")),
  tasks("run retry show", () => import("./run/command.ts"), {
    workflowRun: () => import("./run/run.ts"),
    workflowRetry: () => import("./run/retry.ts"),
    workflowShow: () => import("./run/show.ts"),
  }),
  tasks("events", () => import("./events/command.ts"), {
    workflowEvents: () => import("./events/events.ts"),
  }),
  tasks("wait stop chat", () => import("./runs/command.ts"), {
    workflowWait: async () => (await import("./runs/run-state.ts")).runWait,
    workflowStop: () => import("./runs/stop.ts"),
    stopReply: async () => (await import("./runs/stop.ts")).chatStop,
  }),
  tasks("replay timeline diff", () => import("./recording/command.ts"), {
    workflowReplay: () => import("./recording/replay.ts"),
    workflowTimeline: () => import("./recording/timeline.ts"),
    workflowDiff: () => import("./recording/diff.ts"),
  }),
  tasks("test", () => import("./test/command.ts"), {
    testRun: () => import("./test/run.ts"),
    testMerge: () => import("./test/merge.ts"),
    testPlan: () => import("./test/plan.ts"),
    testScore: () => import("./test/score.ts"),
    testFlaky: () => import("./test/flaky.ts"),
    testSchema: () => import("./test/file/schema.ts"),
  }),
  tasks("test", () => import("./test/drafts/command.ts"), {
    testInit: () => import("./test/drafts/init.ts"),
  }),
  tasks("test", () => import("./test/judging/command.ts"), {
    testCalibrate: () => import("./test/judging/calibrate.ts"),
  }),
  tasks("test", () => import("./test/review/command.ts"), {
    testReview: () => import("./test/review/review.ts"),
    testAccept: () => import("./test/review/accept.ts"),
  }),
  tasks("form", () => import("./forms/command.ts"), {
    formShow: async () => ({ run: (await import("./forms/choose-form.ts")).showForm }),
    formSubmit: () => import("./forms/dialog.ts"),
    formList: () => import("./forms/list.ts"),
  }),
  tasks("logs", () => import("./logs/command.ts"), {
    workflowLogs: () => import("./logs/list.ts"),
    workflowLogsExport: () => import("./logs/export.ts"),
  }),
  tasks("stats cost", () => import("./stats/command.ts"), {
    workflowStats: () => import("./stats/stats.ts"),
    workflowCost: () => import("./stats/cost.ts"),
  }),
  tasks("top", () => import("./top/command.ts"), {
    workflowTop: () => import("./top/top.ts"),
  }),
  tasks("chat text conversation", () => import("./chat/command.ts"), {
    chat: () => import("./chat/chat.ts"),
    chatSend: () => import("./chat/send.ts"),
    completionCreate: async () => (await import("./chat/send.ts")).createText,
    conversationVariables: () => import("./chat/variables.ts"),
  }),
  tasks("annotation", () => import("./annotations/command.ts"), {
    replyEnable: async () => (await import("./annotations/reply.ts")).enable,
    replyDisable: async () => (await import("./annotations/reply.ts")).disable,
    replyStatus: async () => (await import("./annotations/reply.ts")).status,
  }),
  tasks("app open", () => import("./app/command.ts"), {
    appInfo: async () => (await import("./app/application.ts")).info,
    workflowOpen: () => import("./app/application.ts"),
  }),
  tasks("mcp", () => import("./mcp/command.ts"), {
    wfMcp: () => import("./mcp/mcp.ts"),
    wfMcpConfig: () => import("../shared/mcp/client-config.ts"),
  }),
];

export { wfRules } from "./rules/index.ts";

/** The runs of the application that a command takes, newest first, as `last` and the question for one see them. */
export async function* runsOfApplication(context: Context, kind: ChosenArgument["kind"]) {
  yield* (await import("./runs/index.ts")).takenRuns(kind, context);
}

/** The forms of the application that can be submitted, newest first. */
export async function* formsOfApplication(context: Context) {
  yield* (await import("./forms/choose-form.ts")).openForms(context);
}

/** The inputs of the application as fields. */
export const inputsOfApplication = async (context: Context) =>
  (await import("./forms/index.ts")).applicationFields(context);

/** The form of a token, of `last` or of a run: its inputs and actions. */
export const formOfApplication = async (typed: string | undefined, context: Context) =>
  (await import("./forms/index.ts")).chosenForm(typed, context);

/** The runs of the server that were started or followed on this machine, by ID, newest first. */
export const runsOfMachine = async (context: Context) =>
  (await import("./runs/index.ts")).savedRuns(context);

/** Help topics about runs, as pages in Markdown. */
export const runTopics = async () => (await import("./topics/index.ts")).topics;
