import { sharedTasks, tasks } from "../commands/tasks.ts";
import { operations } from "../operations/index.ts";
import { commandOf } from "./command.ts";
import type { Command } from "./command.ts";

/** Every command of a program: rows with a command, tasks, and what both programs have. */
export function commandsOf(program: string): readonly Command[] {
  const own = [...operations, ...tasks].filter(({ command }) => command?.startsWith(`${program} `));
  const shared = sharedTasks.map((task) => ({
    ...task,
    command: `${program} ${task.command}`,
    examples: task.examples.map((line) => line.replace(/^kb\b/, program)),
  }));
  return [...own, ...shared].map(commandOf);
}
