import type { FileInput } from "../../../operations/operation.ts";
import type { ChosenArgument, CommandRules } from "../../task/command-rules.ts";

/** A run by `last`, or asked for on a terminal. */
const aRun = {
  params: ["workflow_run_id"],
  kind: "any",
  help: "last is the newest; prompts on a terminal",
  choose: async (typed, place, context) =>
    (await import("../runs/index.ts")).chooseRun(typed, place, context),
} satisfies ChosenArgument;

/** A form by `last`, by its run, or asked for on a terminal. */
const aForm = {
  params: ["form_token"],
  kind: "any",
  help: "last is the form of the newest run, a run ID the form of that run; prompts on a terminal",
  choose: async (typed, place, context) =>
    (await import("../forms/index.ts")).chooseForm(typed, place, context),
} satisfies ChosenArgument;

/** The five types of audio that the server accepts, by name, whatever the content is (server §18). */
const audioTypes = ["mp3", "m4a", "wav", "amr", "mpga"];

/** What the commands of applications that are one request do besides. */
export const wfRules: Readonly<Record<string, CommandRules>> = {
  "wf show": { chosen: aRun },
  "wf form show": { chosen: aForm },
  "wf form submit": { chosen: aForm },
  "wf retry": { chosen: aRun },
  "wf wait": { chosen: aRun },
  "wf events": { chosen: aRun },
  "wf stop": { chosen: { ...aRun, kind: "running", params: ["task_id"] } },
  "wf timeline": { chosen: { ...aRun, kind: "traced", params: ["run"] } },
  "wf open": {
    chosen: {
      ...aRun,
      help: "last is the newest",
      choose: async (typed, place, context) =>
        typed === undefined ? undefined : aRun.choose(typed, place, context),
    },
  },
  "wf diff": {
    chosen: { ...aRun, kind: "compared", params: ["a", "b"], help: "last is the newest run" },
  },
  "wf audio transcribe": {
    async fill({ resolved }) {
      const known = await resolved();
      const file = known["file"] as FileInput; // required
      const extension = /\.([^./\\]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? "";
      const type = audioTypes.includes(extension) ? `audio/${extension}` : undefined;
      return { ...known, file: { type, ...file } };
    },
  },
};
