import { readRowFile, unreadable } from "../../../../lib/formats/rows-file.ts";
import { tryParseJson } from "../../../../lib/json.ts";
import type { Context } from "../../../task/command-spec.ts";
import { readInput } from "../../../task/files.ts";
import { questionDraft } from "./draft.ts";

/** Names of columns, the first of which is taken; case, blanks and dashes do not matter. */
const knownColumns = {
  question: ["query", "question", "prompt", "message", "input", "user_input", "q"],
  answer: [
    "answer",
    "expected",
    "expected_answer",
    "expected_output",
    "reference",
    "ground_truth",
    "response",
    "output",
    "a",
  ],
  name: ["name", "title", "id"],
  contexts: ["reference_contexts"],
} as const;

type Role = keyof typeof knownColumns;

/**
 * Reads a file of questions and answers; with `input`, the question becomes that input of a workflow,
 * with `kb`, a search there must find the reference contexts. `taken` says what is taken from which column.
 * Throws `usage` for a file without such columns.
 */
export async function rowDrafts(
  path: string,
  { input, kb }: { readonly input?: string | undefined; readonly kb?: string | undefined },
  { host }: Context,
) {
  const { rows, columns } = await readRowFile(path, await readInput(path, host));
  const all = columns ?? [...new Set(rows.flatMap(({ values }) => Object.keys(values)))];
  const found = {
    question: columnFor("question", all),
    answer: columnFor("answer", all),
    name: columnFor("name", all),
    contexts: kb === undefined ? undefined : columnFor("contexts", all),
  };
  const { question, answer, name, contexts } = found;
  if (kb !== undefined && contexts === undefined)
    throw unreadable(path, "no column reference_contexts", "omit --kb to do without searches");
  for (const role of ["question", "answer"] as const)
    if (found[role] === undefined)
      throw unreadable(
        path,
        `no column for the ${role}`,
        `name it one of ${knownColumns[role].join(", ")}`,
      );
  const drafts = rows.map(({ values }) => {
    const draft = questionDraft({ query: textOf(values, question) }, textOf(values, answer), {
      name: textOf(values, name),
    });
    if (typeof draft === "string") return draft;
    const { query } = draft.turns[0];
    const texts = contexts === undefined ? [] : textsIn(values[contexts]);
    if (!texts) return "with contexts that are not a JSON list of texts";
    const keys = texts.length > 0 ? { keys: { search: { kb, query, text: texts } } } : {};
    if (input === undefined) return { ...draft, ...keys };
    return { ...draft, ...keys, turns: [{ inputs: { [input]: query } }] as const };
  });
  const used = Object.entries(found).flatMap(([role, column]) =>
    column === undefined ? [] : [`${role} from column ${JSON.stringify(column)}`],
  );
  const others = all.filter((column) => !Object.values(found).includes(column));
  const rest = others.length === 0 ? "" : `; not used: ${others.join(", ")}`;
  return { drafts, taken: used.join(", ") + rest };
}

function columnFor(role: Role, columns: readonly string[]): string | undefined {
  const names = knownColumns[role];
  const plain = (column: string) =>
    column
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, "_");
  const positions = columns.map((column) => (names as readonly string[]).indexOf(plain(column)));
  const best = Math.min(...positions.filter((position) => position >= 0));
  return columns[positions.indexOf(best)];
}

/** The texts of a list, which a cell of CSV has as JSON; undefined for anything else. */
function textsIn(cell: unknown): readonly string[] | undefined {
  if (cell === undefined || cell === null || cell === "") return [];
  const list = typeof cell === "string" ? tryParseJson(cell) : cell;
  const isTexts = Array.isArray(list) && list.every((each) => typeof each === "string");
  return isTexts ? list : undefined;
}

/** The text of a cell; undefined for none. */
function textOf(
  values: Readonly<Record<string, unknown>>,
  column: string | undefined,
): string | undefined {
  const value = column === undefined ? undefined : values[column];
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
