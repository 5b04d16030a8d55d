import { own } from "../../../lib/json.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { CommandRules } from "../../task/command-rules.ts";

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
  "wf audio transcribe": {
    async fill({ resolved }) {
      const known = await resolved();
      const file = known["file"] as FileInput; // required
      const extension = /\.([^./\\]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? "";
      return { ...known, file: { type: own(audioTypes, extension), ...file } };
    },
  },
};
