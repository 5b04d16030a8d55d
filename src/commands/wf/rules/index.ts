import { own } from "../../../lib/json.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { ChosenArgument, CommandRules } from "../../task/command-rules.ts";

/** A run by `last`, or asked for on a terminal. */
const aRun = {
  params: ["workflow_run_id"],
  kind: "any",
  help: "last is the newest; prompts on a terminal",
  choose: async (typed, chosen, context) =>
    (await import("../runs/index.ts")).chooseRun(typed, chosen, context),
} satisfies Omit<ChosenArgument, "command">;

/** A form by `last`, by its run, or asked for on a terminal. */
const aForm = {
  params: ["form_token"],
  kind: "any",
  help: "last is the form of the newest run, a run ID the form of that run; prompts on a terminal",
  choose: async (typed, chosen, context) =>
    (await import("../forms/index.ts")).chooseForm(typed, chosen, context),
} satisfies Omit<ChosenArgument, "command">;

/** The five types of audio that the server accepts, by name, whatever the content is (server §18). */
const audioTypes: Readonly<Record<string, string>> = {
  mp3: "audio/mp3",
  m4a: "audio/m4a",
  wav: "audio/wav",
  amr: "audio/amr",
  mpga: "audio/mpga",
};

/** What the commands of applications that are one request do besides. */
export const wfRules: Readonly<Record<string, CommandRules>> = {
  "wf show": { chosen: { ...aRun, command: "wf show" } },
  "wf form show": { chosen: { ...aForm, command: "wf form show" } },
  "wf form submit": { chosen: { ...aForm, command: "wf form submit" } },
  "wf retry": { chosen: { ...aRun, command: "wf retry" } },
  "wf wait": { chosen: { ...aRun, command: "wf wait" } },
  "wf events": { chosen: { ...aRun, command: "wf events" } },
  "wf stop": {
    chosen: { ...aRun, command: "wf stop", kind: "running", params: ["task_id"] },
  },
  "wf timeline": {
    chosen: { ...aRun, command: "wf timeline", kind: "traced", params: ["run"] },
  },
  "wf open": {
    chosen: {
      ...aRun,
      command: "wf open",
      help: "last is the newest",
      choose: async (typed, chosen, context) =>
        typed === undefined ? undefined : aRun.choose(typed, chosen, context),
    },
  },
  "wf diff": {
    chosen: {
      ...aRun,
      command: "wf diff",
      kind: "compared",
      params: ["a", "b"],
      help: "last is the newest run",
    },
  },
  "wf audio transcribe": {
    async fill({ resolved }) {
      const known = await resolved();
      const file = known["file"] as FileInput; // required
      const extension = /\.([^./\\]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? "";
      return { ...known, file: { type: own(audioTypes, extension), ...file } };
    },
  },
};
