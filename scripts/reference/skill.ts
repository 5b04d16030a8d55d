import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { compactTree } from "../../src/cli/help/json.ts";
import { exitCodes } from "../../src/errors.ts";

/** What a program does next after an exit code. */
const nextSteps: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: "Continue.",
  failure: "Read the message; look at the server before a write is repeated.",
  usage: "Mend the command line: `error.hint` says how.",
  "not-found": "List what exists; names are case-sensitive.",
  auth: "Stop and ask the user to run `kb login` or `wf login`.",
  refused: "Read the message. For an ambiguous name take an ID of `error.details.candidates`.",
  unsupported: "Use another command or application; repeating does not help.",
  limited: "Wait, then repeat.",
  paused: "`wf form list` shows the form; the user answers it.",
  "remote-failed": "The command worked, the remote work did not: read its error.",
  partial: "Repeat only what failed, from the file of `--errors-to` or the same command.",
  network: "Repeat reads; before a write is repeated read `error.changed`.",
  deadline: "The remote work may still be running: wait for it, do not start it again.",
  cut: "Follow the run again with `wf events RUN --follow`.",
  gate: "The result is valid and not as required: report it.",
  hangup: "As 130.",
  interrupted: "The same command continues where it stopped, if it is one of many rows or files.",
  terminated: "As 130.",
};

/** Pages of the skill that follow from the commands, by file name. */
export async function skillPages(): Promise<ReadonlyMap<string, string>> {
  const programs = await Promise.all(
    (["kb", "wf"] as const).map(async (program) => compactTree(program, await commandsOf(program))),
  );
  return new Map([
    ["commands.md", commandsPage(programs)],
    ["exit-codes.md", exitCodesPage()],
  ]);
}

const commandsPage = (programs: readonly ReturnType<typeof compactTree>[]): string =>
  page([
    "# Commands",
    "Arguments and required flags; all flags of one: `kb help COMMAND --json`. An effect that is not named is `reads`.",
    ...programs.flatMap(({ program, commands }) => [
      `## ${program}`,
      table(
        ["Command", "Effect", "What it does"],
        commands.map(({ command, args = "", effect = "", summary }) => [
          `\`${`${command} ${args}`.trim()}\``,
          effect,
          summary,
        ]),
      ),
    ]),
  ]);

const exitCodesPage = (): string =>
  page([
    "# Exit codes and errors",
    table(
      ["Code", "Name", "Meaning", "Next"],
      Object.entries(exitCodes).map(([name, [code, meaning]]) => [
        String(code),
        name,
        meaning,
        nextSteps[name as keyof typeof exitCodes],
      ]),
    ),
    "With `-o json`, `-o jsonl` or `KB_ERROR_FORMAT=json` the last line of stderr is one JSON object with the key `error`:",
    table(
      ["Field", "Meaning"],
      [
        ["code", "Stable code: the name above, or a more exact one"],
        ["message", "What failed and why"],
        ["hint", "The next step, often a command; null if there is none"],
        ["exit", "The exit code"],
        ["changed", "What the server has changed: `nothing`, `yes` or `unknown`"],
        ["retryable", "Whether the same command can succeed later"],
        ["http_status, server_code", "What the server answered; null if it did not"],
        ["method, path, request_id", "The request that failed"],
        ["details", "Candidates of an ambiguous name, invalid fields; null otherwise"],
      ],
    ),
  ]);

const page = (blocks: readonly string[]): string => `${blocks.join("\n\n")}\n`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
