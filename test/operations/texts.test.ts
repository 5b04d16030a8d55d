/** The texts of every command: progress, success and errors, by hand. */
import { describe, expect, test } from "vitest";
import {
  confirmationText,
  progressText,
  successText,
  withNamesIn,
  withPrefix,
} from "../../src/cli/execute/command-texts.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import type { Command } from "../../src/cli/parse/command.ts";
import { CliError } from "../../src/errors.ts";
import { operations } from "../../src/operations/index.ts";

/** Present participle of each verb that commands begin with, and its past tense where they print it. */
const listed = `
  accept accepting, add adding added, apply applying, archive archiving archived, bind binding bound,
  build building, check checking, compare comparing, compute computing, convert converting, copy copying,
  create creating created, delete deleting deleted, disable disabling disabled, download downloading,
  enable enabling enabled, evaluate evaluating, export exporting, generate generating, get getting got,
  hold holding, import importing, install installing, list listing, merge merging, open opening, plan planning,
  print printing, pull pulling, read reading read, remove removing, rename renaming renamed,
  replace replacing replaced, replay replaying, review reviewing, run running ran, search searching,
  send sending sent, serve serving, set setting set, show showing, sign signing, start starting, stop stopping,
  submit submitting submitted, sync syncing, transcribe transcribing, unarchive unarchiving unarchived,
  unbind unbinding unbound, update updating updated, upload uploading uploaded, wait waiting`;
const forms = new Map(
  listed.split(",").map((entry): [string, string[]] => {
    const [verb = "", ...words] = entry.trim().split(/\s+/);
    return [verb, words];
  }),
);

/** A form of a verb: as listed, or of another verb that it is one (of `make`, `mak…ing`). */
const form = (verb: string, which: 0 | 1): string =>
  forms.get(verb)?.[which] ?? `${verb.replace(/[ey]$/, "")}\\w*${which === 0 ? "ing" : "ed"}`;

const shared =
  /^wf (login|profile|config|api|doctor|sandbox|skill install|completion (bash|zsh|fish|powershell))\b/;
const commands = [...(await commandsOf("kb")), ...(await commandsOf("wf"))].filter(
  ({ words }) => !shared.test(words.join(" ")),
);

/** Each positional as its word in capitals. */
const typedFor = ({ positionals }: Command) =>
  Object.fromEntries(
    positionals.map(({ name, word, variadic }) => {
      const value = word.toUpperCase();
      return [name, variadic ? [value] : value];
    }),
  );

function errorOf(command: Command, typed: Readonly<Record<string, unknown>>): string {
  const row = command.row ?? command.task?.wraps;
  if (!row) return "";
  const error = withNamesIn(withPrefix(new CliError("failure", "why"), row), command, typed);
  return (error as CliError).message.replace(/: why$/, "");
}

const commandNamed = (name: string): Command => {
  const command = commands.find(({ words }) => words.join(" ") === name);
  if (!command) throw new Error(`no command ${name}`);
  return command;
};

/** A phrase with its positionals as their words in capitals; one document is not `documents`. */
const spoken = (phrase: string, { positionals }: Command): string =>
  phrase
    .replace(/(s?) \{(\w+)\}/g, (_, plural: string, word: string) => {
      const isVariadic = positionals.some((each) => each.word === word && each.variadic);
      return `${isVariadic ? "" : plural} {${word}}`;
    })
    .replace(/\{(\w+)\}/g, (_, word: string) => word.toUpperCase());

/** A pattern of what a command does, with its verb in a form. */
function pattern(phrase: string, which: 0 | 1): RegExp {
  const [verb = "", ...rest] = phrase.split(" ");
  const [first = "", ...letters] = form(verb, which);
  return new RegExp(`^${[first.toUpperCase() + letters.join(""), ...rest].join(" ")}$`);
}

test.each(commands.map((command) => [command.words.join(" "), command] as const))(
  "%s",
  (_, command) => {
    const typed = typedFor(command);
    const own = command.row ?? command.task?.wraps;
    const phrase = spoken(command.action, command);
    expect(progressText(command, typed)).toMatch(pattern(phrase, 0));
    expect(errorOf(command, typed)).toBe(own ? `failed to ${spoken(own.action, command)}` : "");
    if (!own || command.effect === "reads" || command.returns.kind === "events") return;
    if (command.done === undefined) expect(successText(command, typed)).toMatch(pattern(phrase, 1));
    else expect(successText(command, typed)).toBe(spoken(command.done, command));
  },
);

test("rows without a command have a prefix of their own", () => {
  const prefixes = operations.map((row) => withPrefix(new CliError("failure", "why"), row).message);
  for (const prefix of prefixes) expect(prefix).toMatch(/^failed to [a-z-]+( [a-z-]+)*: why$/);
});

describe("names", () => {
  const remove = commandNamed("kb doc delete");

  test.each([
    [["a.md"], "Deleting document a.md from knowledge base Handbook"],
    [["a.md", "b.md"], "Deleting documents a.md, b.md from knowledge base Handbook"],
    [["x".repeat(100)], `Deleting document ${"x".repeat(80)}… from knowledge base Handbook`],
  ])("%j are part of the text", (document_id, text) => {
    expect(progressText(remove, { dataset_id: "Handbook", document_id })).toBe(text);
  });

  test("a text without its names has none of them", () => {
    expect(progressText(remove, { dataset_id: "Handbook" })).toBe(
      "Deleting documents from knowledge base Handbook",
    );
    expect(progressText(remove, { document_id: ["a.md"] })).toBe("Deleting document");
    expect(errorOf(commandNamed("kb tag rename"), { tag_id: "draft" })).toBe(
      "failed to rename tag",
    );
  });

  test("the question before a delete has them, too", () => {
    expect(confirmationText(commandNamed("kb delete"), { dataset_id: "Handbook" })).toBe(
      "Delete knowledge base Handbook? This cannot be undone.",
    );
  });
});
