import type * as operations from "../../operations/chats.ts";
import { internalServerError, raise, type HttpError } from "../protocol/response.ts";
import { isUuid } from "../../lib/text.ts";
import { atLeast } from "../../lib/version.ts";
import { zeroUsage } from "../models/tokens.ts";
import { numberParam, valueError } from "../protocol/validation.ts";
import { unlessModelFails } from "../models/marks.ts";
import { toSeconds } from "../protocol/ids.ts";
import type {
  RunStore,
  StoredConversation,
  StoredEndUser,
  StoredMessage,
} from "./records/runs-store.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import { storedCitations, fillShape, appError } from "./records/shapes.ts";
import { requireChat, requireVariables } from "./context.ts";
import type { AppContext, AppHandlers, AppCall } from "./context.ts";
import { shownForms, submission, typeName } from "./records/run-events.ts";
import { messageFiles } from "./inputs.ts";
import { runEvent } from "../protocol/fill.ts";

/** Conversations, their messages and variables. */
export const conversationHandlers = {
  listConversations({ records }, input, call) {
    const { app, id: end_user_id } = chatUser(records, call, input);
    const limit = numberParam(call.query, "ConversationListQuery", "limit", [1, 100]);
    const order = input.sort_by ?? "-updated_at";
    const column = order.endsWith("created_at") ? "created_at" : "updated_at";
    const direction = order.startsWith("-") ? "DESC" : "ASC";
    const by = `${column} ${direction}, rowid DESC`;
    const all = records.conversations.list({ app, end_user_id }, by);
    const last = call.query.get("last_id");
    const missing = appError("last conversation missing");
    const rows = rowsAfter(all, last, missing, column === "created_at");
    const introduction = introductionOf(call);
    const shown = rows.map((row) => ({ ...row, introduction }));
    return { json: firstPage("conversation", shown, limit) };
  },

  renameConversation(context, input, call) {
    const { records } = context;
    const conversation = requireConversation(records, call, input);
    const { id } = conversation;
    if (!input.auto_generate && !input.name) {
      const text = "name is required when auto_generate is false";
      throw valueError("ConversationRenamePayload", "", call.body, text);
    }
    const first = records.messages.find({ conversation_id: id });
    const changes = input.auto_generate
      ? { name: titleOf(context, first?.query ?? "") ?? conversation.name }
      : { name: input.name ?? "", updated_at: records.now() };
    records.conversations.update({ id }, changes);
    const introduction = introductionOf(call);
    return { json: fillShape("conversation", { ...conversation, ...changes, introduction }) };
  },

  deleteConversation({ records }, input, call) {
    const { id } = requireConversation(records, call, input);
    records.store.transaction(() => {
      records.conversation_variables.delete({ conversation_id: id });
      records.messages.delete({ conversation_id: id });
      records.conversations.delete({ id });
    });
    return { status: 204 };
  },

  listMessages({ records }, input, call) {
    const endUser = chatUser(records, call, input);
    const limit = numberParam(call.query, "MessageListQuery", "limit", [1, 100]);
    const conversation = findConversation(records, endUser, input.conversation_id);
    const { id } = conversation ?? raise(appError("conversation of messages missing"));
    const newestFirst = records.messages.list({ conversation_id: id }, "position DESC");
    const first = call.query.get("first_id");
    const older = rowsAfter(newestFirst, first, appError("first message missing"), true);
    const page = older.slice(0, limit).toReversed();
    const data = page.map((message) => messageResponse(records, endUser, message, call));
    return { json: { limit, has_more: older.length > limit, data } };
  },

  listConversationVariables({ records }, input, call) {
    requireVariables(call);
    const { id } = requireConversation(records, call, input);
    const limit = numberParam(call.query, "ConversationVariablesQuery", "limit", [1, 100]);
    // The server's filter by name fails (server §18).
    if (call.query.has("variable_name")) throw internalServerError();
    const last = call.query.get("last_id");
    const rows = rowsAfter(listVariables(records, id), last, appError("variable missing"));
    return { json: firstPage("conversation variable", rows, limit) };
  },

  setConversationVariable({ records }, input, call) {
    requireVariables(call);
    const { id: conversation_id } = requireConversation(records, call, input);
    const id = input.variable_id;
    const row = records.conversation_variables.find({ id, conversation_id });
    const variable = row ?? raise(appError("variable missing"));
    const { value } = input;
    if (typeof value !== "string") {
      throw appError("variable of another type", { name: variable.name, type: typeName(value) });
    }
    const changes = { value, updated_at: records.now() };
    records.conversation_variables.update({ id }, changes);
    return { json: fillShape("conversation variable", { ...variable, ...changes }) };
  },
} satisfies Partial<AppHandlers<typeof operations>>;

interface UserInput {
  readonly user?: string | undefined;
}

/** Returns the end user of a chat route; without one, the server uses a user without data (server §2). */
const chatUser = (records: RunStore, call: AppCall, { user }: UserInput): StoredEndUser =>
  records.endUser(requireChat(call).name, user ?? "DEFAULT-USER");

/** The conversation of an end user with that ID. */
export const findConversation = (records: RunStore, { app, id }: StoredEndUser, wanted = "") =>
  records.conversations.find({ app, end_user_id: id, id: wanted });

function requireConversation(
  records: RunStore,
  call: AppCall,
  input: UserInput & { readonly conversation_id: string },
): StoredConversation {
  const found = findConversation(records, chatUser(records, call, input), input.conversation_id);
  return found ?? raise(appError("conversation missing"));
}

/**
 * Throws 404 for a message to a conversation that the end user does not have, and 400 for a text that is not a UUID;
 * servers before 1.16 begin another one (server §18).
 */
export function requireOwnConversation(
  { records }: AppContext,
  call: AppCall,
  user: string,
  id: string | undefined,
): void {
  if (!id || !atLeast(call.version, "1.16.0")) return;
  if (!isUuid(id)) {
    const text = "conversation_id must be a valid UUID";
    throw valueError("ChatRequestPayload", "conversation_id", id, text);
  }
  const endUser = records.endUser(requireChat(call).name, user);
  if (!findConversation(records, endUser, id)) throw appError("conversation of message missing");
}

/** The title that the model gives to a question; undefined if it fails, or there is none. */
const titleOf = ({ model }: AppContext, question: string): string | undefined =>
  unlessModelFails(() => model?.title(question));

/** Names a conversation after its first message; without a model, by the message itself. */
export function nameConversation(context: AppContext, id: string, query: string): void {
  context.records.conversations.update({ id }, { name: titleOf(context, query) ?? query });
}

const introductionOf = ({ app }: AppCall): string => app.features.opening_statement ?? "";

/** Characters of a message that name its conversation until the model does. */
const NAME_LENGTH = 20;

function beginningOf(query: string): string {
  const characters = [...query]; // not UTF-16 units
  return characters.length > NAME_LENGTH ? `${characters.slice(0, NAME_LENGTH).join("")}…` : query;
}

/**
 * Returns the conversation of a message. An unknown ID creates a conversation (server §18),
 * which is named by the beginning of the message until `nameConversation`.
 */
export function openConversation(
  records: RunStore,
  app: AppDefinition,
  endUser: StoredEndUser,
  message: {
    readonly conversation_id?: string | undefined;
    readonly query: string;
    readonly inputs?: StoredConversation["inputs"];
  },
): StoredConversation {
  const known = findConversation(records, endUser, message.conversation_id);
  if (known) return known;
  const id = message.conversation_id ?? "";
  if (records.conversations.find({ app: app.name, id })) throw appError("conversation missing");
  const conversation = records.conversations.insert({
    app: app.name,
    end_user_id: endUser.id,
    name: beginningOf(message.query),
    inputs: message.inputs ?? {},
  });
  for (const variable of app.variables)
    records.conversation_variables.insert({ conversation_id: conversation.id, ...variable });
  return conversation;
}

/** The variables of a conversation by name. */
export const variablesOf = (records: RunStore, id: string): Record<string, string> =>
  Object.fromEntries(listVariables(records, id).map(({ name, value }) => [name, value] as const));

const listVariables = (records: RunStore, conversation_id: string) =>
  records.conversation_variables.list({ conversation_id }, "created_at, id");

/**
 * Returns the rows after an ID, or all without one. If the server's cursor is the time of the row in
 * whole seconds, it skips all rows of that second (server §5).
 */
function rowsAfter<Row extends { readonly id: string; readonly created_at: number }>(
  rows: readonly Row[],
  id: string | null,
  missing: HttpError,
  skipsSecond = false,
): readonly Row[] {
  if (!id) return rows;
  const index = rows.findIndex((row) => row.id === id);
  const cursor = rows[index] ?? raise(missing);
  const second = toSeconds(cursor.created_at);
  return rows
    .slice(index + 1)
    .filter(({ created_at }) => !skipsSecond || toSeconds(created_at) !== second);
}

type Shape = Parameters<typeof fillShape>[0];

const firstPage = (shape: Shape, rows: readonly object[], limit: number) => ({
  limit,
  has_more: rows.length > limit,
  data: rows.slice(0, limit).map((row) => fillShape(shape, { ...row })),
});

/** What a message shows that used nothing, or failed. */
const unused = { ...zeroUsage, total_price: "0E-7", latency: 0 };

/** What the answer to a message used: its own, or that of its run; undefined for one that failed. */
function usageOf({ runs }: RunStore, { status, usage, run_id: id }: StoredMessage) {
  return status === "error" ? undefined : (usage ?? runs.find({ id })?.progress.usage);
}

function messageResponse(
  records: RunStore,
  endUser: StoredEndUser,
  message: StoredMessage,
  { app, origin, version }: AppCall,
) {
  const feedback = records.feedbacks.find({ message_id: message.id, end_user_id: endUser.id });
  return fillShape("message", {
    message,
    feedback: feedback ? { rating: feedback.rating } : null,
    files: messageFiles(records, message, origin),
    citations: storedCitations(message),
    usage: { ...unused, ...usageOf(records, message) },
    version,
    thoughts: (message.thoughts ?? []).map((thought) =>
      fillShape("stored thought", { ...thought, message_id: message.id, version }),
    ),
    forms: messageForms(records, app, message),
  });
}

/** The forms of a message's run: open ones with their token, submitted ones with their inputs. */
const messageForms = (records: RunStore, app: AppDefinition, { run_id }: StoredMessage) =>
  shownForms(app, records.forms.list({ run_id }, "expires_at")).map(({ form, node, content }) => {
    const submitted = form.status === "submitted";
    const filled = submitted && runEvent("human_input_form_filled", submission(form, node)).data;
    const shown = { form: { ...form, token: submitted ? null : form.token }, node, content };
    // The history names no channels, as events of servers before 1.15.
    const { data: definition } = runEvent("human_input_required", { ...shown, version: "0" });
    return fillShape("message form", { form, submitted, definition, filled: filled || null });
  });
