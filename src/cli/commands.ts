import { sharedTasks } from "../commands/tasks.ts";
import { commandOf } from "./command.ts";
import type { Command } from "./command.ts";

/** What only one of the programs has; the other starts without it. */
const specsOf = {
  async kb() {
    const { kbOperations } = await import("../operations/of-kb.ts");
    return [...kbOperations, ...(await import("../commands/kb-tasks.ts")).kbTasks];
  },
  async wf() {
    const { wfOperations } = await import("../operations/of-wf.ts");
    return [...wfOperations, ...(await import("../commands/workflow-tasks.ts")).workflowTasks];
  },
};

/** Every command of a program: rows with a command, tasks, and what both programs have. */
export async function commandsOf(program: "kb" | "wf"): Promise<readonly Command[]> {
  const own = (await specsOf[program]()).filter(({ command }) => command !== undefined);
  const shared = sharedTasks.map((task) => ({
    ...task,
    command: `${program} ${task.command}`,
    examples: task.examples.map((line) => line.replace(/(^|<\()kb\b/, `$1${program}`)),
  }));
  return [...own.map(commandOf).sort(byVerb), ...shared.map(commandOf)];
}

/** Verbs in the order people look for them; the nouns below them and further words follow. */
const verbs = [
  "list",
  "create",
  "add",
  "upload",
  "run",
  "show",
  "search",
  "update",
  "rename",
  "replace",
  "delete",
];

const rank = ({ words }: Command): number => {
  const at = verbs.indexOf(words.at(-1) ?? "");
  return words.length * 100 + (at < 0 ? verbs.length : at);
};

// Equal ranks go by name: the order of a module's exports is not the same everywhere.
const byVerb = (a: Command, b: Command): number =>
  rank(a) - rank(b) || (a.words.join(" ") < b.words.join(" ") ? -1 : 1);
