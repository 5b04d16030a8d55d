import { exitCodes, signalKinds } from "../../errors.ts";
import type { FailureKind } from "../../errors.ts";
import { methodAndPath } from "../../operations/operation.ts";
import type { Param } from "../../operations/operation.ts";
import { argumentOf, flagOf, flagged, isList, valueOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { globalsOf, helpOf, takesEach } from "../parse/shared-flags.ts";
import { topicNames } from "./topic-names.ts";

/** Help of a command, a group of commands or the whole program, by its words. Throws nothing. */
export function helpFor(
  program: string,
  path: readonly string[],
  commands: readonly Command[],
): string {
  const words = [program, ...path];
  const exact = commands.find((command) => sameWords(command.words, words));
  if (exact) return commandHelp(exact);
  const below = commands.filter((command) =>
    sameWords(command.words.slice(0, words.length), words),
  );
  return groupHelp(words, below);
}

const sameWords = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((word, index) => word === b[index]);

/** `kb create <name> [flags]` */
export function usageOf(command: Command): string {
  return [...command.words, ...command.positionals.map(argumentOf), "[flags]"].join(" ");
}

function commandHelp(command: Command): string {
  const parts = [
    `${command.summary}${command.about ? `\n\n${command.about}` : ""}`,
    section("Usage", [usageOf(command)]),
    section("Examples", command.examples),
    section(
      "Arguments",
      rowsOf(
        command.positionals.map(({ word, name }) => {
          const param = command.params[name];
          return [`<${word}>`, param ? paramHelp(param) : ""];
        }),
      ),
    ),
    section("Flags", rowsOf(flagged(command).flatMap(([name, param]) => paramRows(name, param)))),
    ...(["Request", "Output", "Connection", "Other"] as const).map((group) =>
      section(
        `${group} flags`,
        rowsOf(
          globalsOf(command)
            .filter((flag) => flag.group === group)
            .map((flag) => [indented(flag.flags), helpOf(flag, command)]),
        ),
      ),
    ),
    section(
      "Exit codes",
      rowsOf([
        ["0", "done"],
        ...exitsOf(command).map((kind): [string, string] => {
          const [code, meaning] = exitCodes[kind];
          return [String(code), meaning];
        }),
      ]),
    ),
    section("Effect", [effects[command.effect], ...sendsLines(command)]),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const effects = {
  reads: "reads, changes nothing",
  writes: "writes",
  destroys: "destroys: asks on a terminal, needs --yes elsewhere",
} as const;

function sendsLines(command: Command): string[] {
  if (command.sends.length === 0)
    return [command.requests ? "what it sends depends on the line" : "sends nothing to the server"];
  return command.sends.map((row) => `sends ${methodAndPath(row).join(" ")} (${row.id})`);
}

/** What ends any command. */
const signals = Object.values(signalKinds);

/** Exit codes other than 0 that a command can give. */
export function exitsOf(command: Command): FailureKind[] {
  const kinds: FailureKind[] = ["failure", "usage"];
  if (!command.requests) return [...kinds, ...(command.task?.exits ?? []), ...signals];
  kinds.push("not-found", "auth", "refused", "unsupported", "limited");
  kinds.push(...(command.task?.exits ?? []));
  if (command.row?.indexes) kinds.push("remote-failed");
  if (isList(command.returns) || takesEach(command)) kinds.push("partial");
  kinds.push("network", "deadline", ...signals);
  const order = Object.keys(exitCodes);
  return [...new Set(kinds)].sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

function paramRows(name: string, param: Param): [string, string][] {
  const flag = flagOf(name, param);
  const short = param.short === undefined ? "    " : `-${param.short}, `;
  const needed =
    param.required && param.shape?.kind !== "object" && !param.from ? ", required" : "";
  const rows: [string, string][] = [
    [`${short}--${flag}${valueOf(param)}`, `${paramHelp(param)}${needed}`],
  ];
  if (param.orFile)
    rows.push([`    --${flag}-file <path>`, "The same from a file; - is standard input"]);
  if (param.kind === "flag" && param.in !== "local") rows.push([`    --no-${flag}`, "Say no"]);
  return rows;
}

/** What a parameter means, with its limits. */
export function paramHelp(param: Param): string {
  const limits = [
    param.choices?.join(", "),
    param.length &&
      `${param.length[0]} to ${param.length[1]} ${param.many ? "times" : "characters"}`,
    param.range && `${param.range[0]} to ${param.range[1]}`,
    param.many && "repeats",
    param.kind === "json" && "@file or - reads it",
    param.kind === "time" && "ISO 8601, now, today, 2h or epoch seconds",
    param.serverDefault !== undefined && `server default: ${param.serverDefault}`,
  ].filter((part) => part !== undefined && part !== false && part !== "");
  return limits.length > 0 ? `${param.help} (${limits.join("; ")})` : param.help;
}

const indented = (flags: string) => (flags.startsWith("--") ? `    ${flags}` : flags);

function groupHelp(words: readonly string[], commands: readonly Command[]): string {
  const names = new Map<string, string>();
  for (const command of commands) {
    const name = command.words[words.length] ?? "";
    const leaf = command.words.length === words.length + 1;
    const more = commands.filter((other) => other.words[words.length] === name);
    names.set(
      name,
      leaf && more.length === 1 ? command.summary : `${verbs(more, words.length + 1)}`,
    );
  }
  const program = words[0] ?? "";
  const parts = [
    words.length === 1 ? (about[program] ?? "") : `Commands of ${words.join(" ")}`,
    section("Usage", [`${words.join(" ")} <command> [flags]`]),
    section("Commands", rowsOf([...names])),
    words.length === 1
      ? section("More", [
          `${program} <command> --help   flags, examples and exit codes of a command`,
          `${program} help <topic>       ${topicNames.join(", ")}`,
          `${program} help --json        the whole tree for programs`,
        ])
      : "",
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const about: Readonly<Record<string, string>> = {
  kb: "Administer the knowledge bases of a Dify-compatible platform: documents, chunks, metadata,\ntags and retrieval.",
  wf: "Run, follow and answer the workflows of a Dify-compatible platform, and read their logs.",
};

const verbs = (commands: readonly Command[], depth: number) =>
  [...new Set(commands.map((command) => command.words[depth] ?? command.words.at(-1)))].join(", ");

const section = (title: string, lines: readonly string[]) =>
  lines.length === 0 ? "" : `${title}:\n${lines.map((line) => `  ${line}`).join("\n")}`;

/** Two columns; a first column wider than 34 has its text on the next line. */
function rowsOf(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(34, Math.max(0, ...rows.map(([left]) => left.length)));
  return rows.flatMap(([left, right]) =>
    left.length > width
      ? [left, `${" ".repeat(width)}  ${right}`]
      : [`${left.padEnd(width)}  ${right}`.trimEnd()],
  );
}
