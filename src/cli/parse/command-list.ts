import type { CommandRules } from "../../commands/task/command-rules.ts";
import { loadAll } from "../../commands/task/command-spec.ts";
import type { Feature } from "../../commands/task/command-spec.ts";
import { kb } from "../../commands/kb.ts";
import { sharedFeatures } from "../../commands/shared.ts";
import { wf } from "../../commands/wf.ts";
import type { Host } from "../../host/host.ts";
import { attempt, own, parseJson } from "../../lib/json.ts";
import { commandOf } from "./command.ts";
import type { Command, CommandOutline } from "./command.ts";

const programs = { kb, wf };

type Program = keyof typeof programs;

/** What features tell about the commands of a program. */
export const programOf = ({ words }: Pick<Command, "words">) =>
  programs[words[0] === "wf" ? "wf" : "kb"];

/** The features of both programs, whose commands get the program as their first word. */
const sharedBy = (program: Program): Feature[] =>
  sharedFeatures.map((feature) => ({
    ...feature,
    load: async () =>
      (await feature.load()).map((task) => ({
        ...task,
        command: `${program} ${task.command}`,
        get examples() {
          return (task.examples ?? []).map((line) => line.replace(/(^|<\()kb\b/, `$1${program}`));
        },
      })),
  }));

/** What a feature adds to a command that is one request. */
export const rulesOf = (command: Pick<Command, "words">): CommandRules | undefined =>
  own(programOf(command).rules, command.words.join(" "));

/**
 * The commands of a program whose first word this is; every command without a word, or for one that no
 * command has. Those that both programs have are the last.
 */
export async function commandsOf(program: Program, word?: string): Promise<readonly Command[]> {
  const own = await commandsIn(programs[program].features, word);
  const shared = await commandsIn(sharedBy(program), word);
  const found = [...inOrder(own), ...shared];
  return found.length > 0 || word === undefined ? found : commandsOf(program);
}

/** Does a command of the program begin with this word? */
export const isFirstWord = (program: Program, word: string): boolean =>
  [...programs[program].features, ...sharedFeatures].some(({ words }) =>
    words.split(" ").includes(word),
  );

/** The file with the outlines of a program's commands. */
export const outlineFile = (program: Program): string => `commands-${program}.json`;

/** The outlines of all commands of a program: as the build wrote them, or else from the features. */
export async function outlinesOf(
  program: Program,
  { builtFile }: Pick<Host, "builtFile">,
): Promise<readonly CommandOutline[]> {
  const built = attempt(() => parseJson(builtFile(outlineFile(program))) as CommandOutline[]);
  return built ?? commandsOf(program);
}

/** The commands of features that start with a word, or all of them without one. */
async function commandsIn(all: readonly Feature[], word?: string): Promise<Command[]> {
  const isWanted = (words: readonly string[]) => word === undefined || words.includes(word);
  const specs = await loadAll(all.filter(({ words }) => isWanted(words.split(" "))));
  return specs
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
