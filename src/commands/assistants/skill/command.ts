import { list, local, onTerminal, withNamePath } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

export const skillParams = {
  directory: local.text("Directory of the agent's skills", { required, placeholder: "dir" }),
  overwrite: local.flag("Overwrite files with different content"),
};

export const skillInstall = task({
  command: "skill install <dir>",
  action: "install skill",
  summary: "Write a skill for coding agents: how to use kb and wf",
  about:
    "Writes SKILL.md and its references to the directory kb-wf below this one, e.g. .claude/skills.\nNothing is sent.",
  params: skillParams,
  returns: onTerminal(
    { form: "results", outcome: "action", name: "file", routine: ["written"] },
    withNamePath("file", list("", "action file")),
  ),
  effect: "reads",
  examples: ["kb skill install .claude/skills", "kb skill install ~/.agents/skills --overwrite"],
});
