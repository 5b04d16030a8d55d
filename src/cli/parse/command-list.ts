import { sharedTasks } from "../../commands/shared/specs.ts";
import { commandOf } from "./command.ts";
import type { Command } from "./command.ts";

/** The commands of one program; the other starts without loading them. */
const specsOf = {
  async kb() {
    const { kbOperations } = await import("../../operations/kb.ts");
    return [...kbOperations, ...(await import("../../commands/kb/specs.ts")).kbTasks];
  },
  async wf() {
    const { wfOperations } = await import("../../operations/wf.ts");
    return [...wfOperations, ...(await import("../../commands/wf/specs.ts")).workflowTasks];
  },
};

/** Every command of a program: rows with a command, tasks, and the shared tasks. */
export async function commandsOf(program: "kb" | "wf"): Promise<readonly Command[]> {
  const own = (await specsOf[program]()).filter(({ command }) => command !== undefined);
  const shared = sharedTasks.map((task) => ({
    ...task,
    command: `${program} ${task.command}`,
    get examples() {
      return task.examples.map((line) => line.replace(/(^|<\()kb\b/, `$1${program}`));
    },
  }));
  return [...inOrder(own.map(commandOf)), ...shared.map(commandOf)];
}

/** Common verbs in the order of a list; other words follow by name. */
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

/** Sorts by length, verb and name, because the order of a module's exports is not stable. */
function inOrder(commands: readonly Command[]): Command[] {
  const keyed = commands.map((command) => {
    const { words } = command;
    const index = verbs.indexOf(words.at(-1) ?? "");
    const rank = words.length * 100 + (index < 0 ? verbs.length : index);
    return { command, rank, name: words.join(" ") };
  });
  keyed.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  return keyed.map(({ command }) => command);
}
