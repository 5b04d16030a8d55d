import type { AnyOperation } from "../../operations/operation.ts";
import type { Task } from "../../commands/command-spec.ts";
import { commandOf } from "./command.ts";
import type { Command } from "./command.ts";
import { formerWords } from "./former-words.ts";

type Program = "kb" | "wf";

/** A module with commands, and the first words of these. */
interface CommandModule {
  readonly words: string;
  load(program: Program): Promise<readonly (AnyOperation | Task)[]>;
}

/** A module of the table: it exports nothing but rows. */
const rows = (words: string, load: () => Promise<object>): CommandModule => ({
  words,
  load: async () => Object.values(await load()) as AnyOperation[],
});

const tasks = (words: string, load: CommandModule["load"]): CommandModule => ({ words, load });

/** Most starts load the modules of one word and no other. */
const modules: Readonly<Record<Program | "both", readonly CommandModule[]>> = {
  kb: [
    rows("list create show update delete", () => import("../../operations/knowledge.ts")),
    rows("doc", () => import("../../operations/documents.ts")),
    rows("chunk", () => import("../../operations/chunks.ts")),
    rows("metadata", () => import("../../operations/metadata.ts")),
    rows("tag", () => import("../../operations/tags.ts")),
    rows("pipeline", () => import("../../operations/pipeline.ts")),
    tasks(
      "doc metadata tag pipeline model open search sync eval lint export import copy verify pull plan apply mcp",
      async () => (await import("../../commands/kb/specs.ts")).kbTasks,
    ),
  ],
  wf: [
    rows("form", () => import("../../operations/forms.ts")),
    rows("file", () => import("../../operations/files.ts")),
    rows("conversation message feedback", () => import("../../operations/chats.ts")),
    rows("text", () => import("../../operations/completions.ts")),
    rows("app user", () => import("../../operations/apps.ts")),
    rows("audio", () => import("../../operations/audio.ts")),
    rows("annotation", () => import("../../operations/annotations.ts")),
    tasks(
      "run events replay timeline diff show open wait form stop logs stats top chat conversation text annotation app test mcp",
      async () => (await import("../../commands/wf/specs.ts")).workflowTasks,
    ),
  ],
  both: [
    tasks("login profile config api doctor sandbox skill completion", async (program) =>
      (await import("../../commands/shared/specs.ts")).sharedTasks.map((task) => ({
        ...task,
        command: `${program} ${task.command}`,
        get examples() {
          return task.examples.map((line) => line.replace(/(^|<\()kb\b/, `$1${program}`));
        },
      })),
    ),
  ],
};

/**
 * The commands of a program whose first word this is, also under a former name; every command without a
 * word, or for one that no command has. Those that both programs have are the last.
 */
export async function commandsOf(program: Program, word?: string): Promise<readonly Command[]> {
  const former = formerWords.filter(({ words }) => words[0] === program && words[1] === word);
  const wanted = [word, ...former.map(({ current }) => current.split(" ")[1])];
  const own = await commandsIn(modules[program], program, wanted);
  const shared = await commandsIn(modules.both, program, wanted);
  const found = [...inOrder(own), ...shared];
  return found.length > 0 || word === undefined ? found : commandsOf(program);
}

/** The commands of modules that start with one of these words, or all if they are undefined. */
async function commandsIn(
  all: readonly CommandModule[],
  program: Program,
  words: readonly (string | undefined)[],
): Promise<Command[]> {
  const isWanted = (given: readonly string[]) =>
    words[0] === undefined || given.some((word) => words.includes(word));
  const specs = await Promise.all(
    all.filter((module) => isWanted(module.words.split(" "))).map((module) => module.load(program)),
  );
  return specs
    .flat()
    .filter(({ command }) => command !== undefined && isWanted([command.split(" ")[1] ?? ""]))
    .map(commandOf);
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
