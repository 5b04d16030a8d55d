import { CliError } from "../../../../errors.ts";
import type { FailureKind } from "../../../../errors.ts";
import { collect, groupBy } from "../../../../lib/collect.ts";
import { readRowFile, unreadable } from "../../../../lib/formats/rows-file.ts";
import { tryParseJson, valueAt } from "../../../../lib/json.ts";
import { getEndUser } from "../../../../operations/apps.ts";
import { listConversations, listFeedback, listMessages } from "../../../../operations/chats.ts";
import type { Message } from "../../../../operations/chats.ts";
import type { Context } from "../../../task/command-spec.ts";
import { readInput } from "../../../task/files.ts";
import { requireKind } from "../../../wf/app/index.ts";
import { draftTurn, questionDraft } from "./draft.ts";
import type { DraftOrReason } from "./draft.ts";
import { isNumeric } from "../../../../lib/exact-number.ts";

/** Messages with a like and without a dislike, with those before them in their conversation as earlier turns. */
export async function* feedbackDrafts(context: Context): AsyncGenerator<DraftOrReason> {
  await requireKind("chat", context);
  const feedbacks = await collect(context.api.rows(listFeedback, {}));
  const byMessage = groupBy(feedbacks, ({ message_id }) => message_id);
  const read = conversationReader(context);
  for (const [message, all] of byMessage) {
    const liked = all.find(({ rating }) => rating === "like");
    if (!liked) continue;
    if (all.some(({ rating }) => rating === "dislike")) yield "with a dislike, too";
    else yield draftOf(message, await read(liked.conversation_id, liked.from_end_user_id));
  }
}

/** The first message of each conversation of the end user; the others depend on it. */
export async function* conversationDrafts(context: Context): AsyncGenerator<DraftOrReason> {
  await requireKind("chat", context);
  const read = conversationReader(context);
  for await (const { id } of context.api.rows(listConversations, {})) {
    const [first, ...later] = (await read(id)) ?? [];
    if (!first) yield "without a message";
    else if (first.status === "error") yield "with an error in place of the answer";
    else if (valueAt(first, "feedback.rating") === "dislike") yield "with a dislike";
    else yield draftOf(first.id, [first]);
    yield* later.map(() => "that continue a conversation");
  }
}

function draftOf(id: string, messages: readonly Message[] | undefined): DraftOrReason {
  if (!messages) return "in a conversation of another end user (--user)";
  const index = messages.findIndex((message) => message.id === id);
  const message = messages[index];
  if (!message) return "without a message";
  const before = messages.slice(0, index);
  if ([...before, message].some(({ message_files: files }) => files?.length > 0))
    return "with files";
  const turns = before.flatMap((earlier) => draftTurn(earlier) ?? []);
  if (turns.length < before.length) return "after a message without a question";
  return questionDraft(message, message.answer, { before: turns });
}

/**
 * Reads conversations, each once, oldest message first. Only their end user may read them: the one who
 * gave the feedback, or that of the command line. Undefined if the server does not find one.
 */
function conversationReader(context: Context) {
  const known = new Map<string, readonly Message[] | undefined>();
  return async (conversation_id: string, end_user_id?: string | null) => {
    if (known.has(conversation_id)) return known.get(conversation_id);
    const endUser = end_user_id
      ? await orNone(["not-found", "unsupported"], context.api.call(getEndUser, { end_user_id }))
      : undefined;
    const user = endUser?.session_id ? { user: endUser.session_id } : {};
    const rows = context.api.rows(listMessages, { conversation_id, ...user });
    const messages = await orNone(["not-found"], collect(rows));
    known.set(
      conversation_id,
      messages?.toSorted((one, other) => one.created_at - other.created_at),
    );
    return known.get(conversation_id);
  };
}

/** The result; undefined if it fails in one of these ways. */
const orNone = <T>(kinds: readonly FailureKind[], result: Promise<T>): Promise<T | undefined> =>
  result.catch((error: unknown) => {
    if (error instanceof CliError && kinds.includes(error.kind)) return undefined;
    throw error;
  });

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
  return typeof value === "string" || isNumeric(value) ? String(value) : undefined;
}
