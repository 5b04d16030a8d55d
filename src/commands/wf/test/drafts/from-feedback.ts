import { CliError } from "../../../../errors.ts";
import type { FailureKind } from "../../../../errors.ts";
import { collect, groupBy } from "../../../../lib/collect.ts";
import { getEndUser } from "../../../../operations/apps.ts";
import { listFeedback, listMessages } from "../../../../operations/chats.ts";
import type { Feedback, Message } from "../../../../operations/chats.ts";
import type { Context } from "../../../task/command-spec.ts";
import { requireKind } from "../../app/index.ts";
import { questionDraft, draftTurn } from "./draft.ts";
import type { DraftOrReason } from "./draft.ts";

/**
 * Messages with a like and without a dislike; those before them in their conversation are earlier
 * turns.
 */
export async function* feedbackDrafts(context: Context): AsyncGenerator<DraftOrReason> {
  await requireKind("chat", context);
  const feedbacks = await collect(context.api.rows(listFeedback, {}));
  const byMessage = groupBy(feedbacks, ({ message_id }) => message_id);
  const read = conversationReader(context);
  for (const [message, all] of byMessage) {
    const liked = all.find(({ rating }) => rating === "like");
    if (!liked) continue;
    if (all.some(({ rating }) => rating === "dislike")) yield "with a dislike, too";
    else yield draftOf(message, await read(liked));
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
  return async ({ conversation_id, from_end_user_id: end_user_id }: Feedback) => {
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
