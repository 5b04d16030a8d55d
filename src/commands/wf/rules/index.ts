import { own } from "../../../lib/json.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { CommandRules } from "../../task/command-rules.ts";
import type { RunKind } from "../runs/index.ts";

/** A run by `last`, or asked for on a terminal. */
const run = (command: string, kind: RunKind = "any", param = "workflow_run_id"): CommandRules => ({
  chosen: {
    param,
    help: "last is the newest; a terminal asks for it",
    choose: async (typed, context) =>
      (await import("../runs/index.ts")).chooseRun(typed, { kind, command }, context),
  },
});

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
  "wf show": run("wf show"),
  "wf retry": run("wf retry"),
  "wf wait": run("wf wait"),
  "wf events": run("wf events"),
  "wf stop": run("wf stop", "running", "task_id"),
  "wf timeline": run("wf timeline", "traced", "run"),
  "wf audio transcribe": {
    async fill({ resolved }) {
      const known = await resolved();
      const file = known["file"] as FileInput; // required
      const extension = /\.([^./\\]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? "";
      return { ...known, file: { type: own(audioTypes, extension), ...file } };
    },
  },
};
