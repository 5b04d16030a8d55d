import { rows, tasks } from "./task/command-spec.ts";
import type { Context } from "./task/command-spec.ts";
import { wfRules } from "./wf/rules/index.ts";
import type { ChosenArgument, ProgramFeatures } from "./task/command-rules.ts";

const features: ProgramFeatures["features"] = [
  rows("form", () => import("../operations/forms.ts")),
  rows("file audio", () => import("../operations/files.ts")),
  rows("conversation message feedback text", () => import("../operations/chats.ts")),
  rows("app user", () => import("../operations/apps.ts")),
  rows("annotation", () => import("../operations/annotations.ts")),
  tasks("run retry show", () => import("./wf/run/command.ts"), {
    workflowRun: () => import("./wf/run/run.ts"),
    workflowRetry: () => import("./wf/run/retry.ts"),
    workflowShow: () => import("./wf/run/show.ts"),
  }),
  tasks("events", () => import("./wf/events/command.ts"), {
    workflowEvents: () => import("./wf/events/events.ts"),
  }),
  tasks("wait stop chat", () => import("./wf/runs/command.ts"), {
    workflowWait: async () => (await import("./wf/runs/run-state.ts")).runWait,
    workflowStop: () => import("./wf/runs/stop.ts"),
    stopReply: async () => (await import("./wf/runs/stop.ts")).chatStop,
  }),
  tasks("replay timeline diff", () => import("./wf/recording/command.ts"), {
    workflowReplay: () => import("./wf/recording/replay.ts"),
    workflowTimeline: () => import("./wf/recording/timeline.ts"),
    workflowDiff: () => import("./wf/recording/diff.ts"),
  }),
  tasks("test", () => import("./measure/suites/command.ts"), {
    testRun: () => import("./measure/suites/run.ts"),
    testMerge: () => import("./measure/suites/merge.ts"),
    testPlan: () => import("./measure/suites/plan.ts"),
    testScore: () => import("./measure/suites/score.ts"),
    testFlaky: () => import("./measure/suites/flaky.ts"),
    testSchema: () => import("./measure/suite-file/schema.ts"),
  }),
  tasks("test", () => import("./measure/suites/drafts/command.ts"), {
    testInit: () => import("./measure/suites/drafts/init.ts"),
  }),
  tasks("test", () => import("./measure/suites/judging/command.ts"), {
    testCalibrate: () => import("./measure/suites/judging/calibrate.ts"),
  }),
  tasks("test", () => import("./measure/suites/review/command.ts"), {
    testReview: async () => ({ run: (await import("./measure/suites/review/review.ts")).review }),
    testAccept: async () => ({ run: (await import("./measure/suites/review/review.ts")).accept }),
  }),
  tasks("form", () => import("./wf/forms/command.ts"), {
    formShow: async () => ({ run: (await import("./wf/forms/choose-form.ts")).showForm }),
    formSubmit: () => import("./wf/forms/dialog.ts"),
    formList: () => import("./wf/forms/list.ts"),
  }),
  tasks("logs", () => import("./wf/logs/command.ts"), {
    workflowLogs: () => import("./wf/logs/list.ts"),
    workflowLogsExport: () => import("./wf/logs/export.ts"),
  }),
  tasks("stats cost", () => import("./wf/stats/command.ts"), {
    workflowStats: () => import("./wf/stats/stats.ts"),
    workflowCost: () => import("./wf/stats/cost.ts"),
  }),
  tasks("top", () => import("./wf/top/command.ts"), {
    workflowTop: () => import("./wf/top/top.ts"),
  }),
  tasks("chat text conversation", () => import("./wf/chat/command.ts"), {
    chat: () => import("./wf/chat/chat.ts"),
    chatSend: () => import("./wf/chat/send.ts"),
    completionCreate: async () => (await import("./wf/chat/send.ts")).createText,
    conversationVariables: () => import("./wf/chat/variables.ts"),
  }),
  tasks("annotation", () => import("./wf/annotations/command.ts"), {
    replyEnable: async () => (await import("./wf/annotations/reply.ts")).enable,
    replyDisable: async () => (await import("./wf/annotations/reply.ts")).disable,
    replyStatus: async () => (await import("./wf/annotations/reply.ts")).status,
  }),
  tasks("app open", () => import("./wf/app/command.ts"), {
    appInfo: async () => (await import("./wf/app/application.ts")).info,
    workflowOpen: () => import("./wf/app/application.ts"),
  }),
  tasks("mcp", () => import("./assistants/wf-command.ts"), {
    wfMcp: () => import("./assistants/wf-server.ts"),
    wfMcpConfig: () => import("./assistants/client-config.ts"),
  }),
];

/** What `wf` can do. */
export const wf: ProgramFeatures = {
  features,
  rules: wfRules,
  async probes() {
    const { appRows } = await import("../operations/index.ts");
    return {
      application: appRows.getAppInfo,
      "workflow runs": appRows.getWorkflowRun,
      logs: appRows.listWorkflowLogs,
      feedback: appRows.listFeedback,
      annotations: appRows.listAnnotations,
    };
  },
};

/** The runs of the application that a command takes, newest first, as `last` and the question for one see them. */
export async function* runsOfApplication(context: Context, kind: ChosenArgument["kind"]) {
  yield* (await import("./wf/runs/index.ts")).takenRuns(kind, context);
}

/** The forms of the application that can be submitted, newest first. */
export async function* formsOfApplication(context: Context) {
  yield* (await import("./wf/forms/choose-form.ts")).openForms(context);
}

/** The inputs of the application as fields. */
export const inputsOfApplication = async (context: Context) =>
  (await import("./wf/forms/index.ts")).applicationFields(context);

/** The form of a token, of `last` or of a run: its inputs and actions. */
export const formOfApplication = async (typed: string | undefined, context: Context) =>
  (await import("./wf/forms/index.ts")).chosenForm(typed, context);

/** The runs of the server that were started or followed on this machine, by ID, newest first. */
export const runsOfMachine = async (context: Context) =>
  (await import("./wf/runs/index.ts")).savedRuns(context);

/** Help topics about runs, as pages in Markdown. */
export const runTopics = async () => (await import("./wf/topics/index.ts")).topics;
