import { list, local, onTerminal } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

export const sourceCheckParams = {
  program: local.text("Program and its arguments, as after exec:", {
    required,
    placeholder: "program",
  }),
};

export const sourceCheck = task({
  command: "kb source check <program>",
  action: "check source {program}",
  summary: "Check that a program is a source for kb sync",
  about:
    "Runs the program without a shell: its list twice, and up to 20 of its objects twice. Nothing is sent.\nThe protocol and the other sources are described in docs/sources.md.",
  params: sourceCheckParams,
  returns: onTerminal(
    { form: "results", outcome: "result", name: "check", reason: "note", routine: ["ok"] },
    list("", "check:name result note"),
  ),
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb source check 'node directory.mjs docs'",
    "kb source check 'node directory.mjs docs' -o json",
  ],
});
