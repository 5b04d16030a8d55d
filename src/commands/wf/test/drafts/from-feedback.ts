import { CliError } from "../../../../errors.ts";
import { collect, groupBy } from "../../../../lib/collect.ts";
import { getEndUser } from "../../../../operations/apps.ts";
import { listFeedback, listMessages } from "../../../../operations/chats.ts";
import type { Feedback, Message } from "../../../../operations/chats.ts";
import type { Context } from "../../../task/command-spec.ts";
import { requireKind } from "../../app/index.ts";
import { questionDraft, turnOf } from "./draft.ts";
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
  const turns = before.flatMap((earlier) => turnOf(earlier) ?? []);
  if (turns.length < before.length) return "after a message without a question";
  return questionDraft(message, message.answer, { before: turns });
}

/**
 * Reads conversations, each once, oldest message first. Only their end user may read them: the one who
 * gave the feedback, or that of the command line. Undefined if the server does not find one.
 */
function conversationReader(context: Context) {
  const known = new Map<string, readonly Message[] | undefined>();
  return async ({ conversation_id, from_end_user_id }: Feedback) => {
    if (!known.has(conversation_id)) {
      const user = await endUserOf(from_end_user_id, context);
      known.set(conversation_id, await messagesOf(conversation_id, user, context));
    }
    return known.get(conversation_id);
  };
}

async function messagesOf(
  conversation_id: string,
  user: string | undefined,
  context: Context,
): Promise<readonly Message[] | undefined> {
  const messages: Message[] = [];
  const input = { conversation_id, ...(user !== undefined && { user }) };
  try {
    for await (const message of context.api.rows(listMessages, input)) messages.push(message);
  } catch (error) {
    if (error instanceof CliError && error.kind === "not-found") return undefined;
    throw error;
  }
  return messages.toSorted((one, other) => one.created_at - other.created_at);
}

/** The name of an end user; undefined if the server does not tell it. */
async function endUserOf(
  end_user_id: string | null,
  context: Context,
): Promise<string | undefined> {
  if (!end_user_id) return undefined;
  try {
    return (await context.api.call(getEndUser, { end_user_id })).session_id;
  } catch (error) {
    const isUnknown =
      error instanceof CliError && ["not-found", "unsupported"].includes(error.kind);
    if (isUnknown) return undefined;
    throw error;
  }
}
