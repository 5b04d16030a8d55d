import type { CommandRules } from "../../command-rules.ts";

/** What the commands of applications that are one request do besides. */
export const wfRules: Readonly<Record<string, CommandRules>> = {
  "wf audio transcribe": {
    fill: async (filling) => (await import("./audio-type.ts")).fillAudio(filling),
  },
};
