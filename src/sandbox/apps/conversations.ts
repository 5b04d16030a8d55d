import * as operations from "../../operations/chats.ts";
import { internalServerError, raise } from "../http/errors.ts";
import { bindHandlers, type Call, type Handlers, type HttpError } from "../http/handler.ts";
import { numberParam } from "../http/page-params.ts";
import { validationError } from "../http/pydantic.ts";
import { toSeconds } from "../storage/ids.ts";
import type {
  RunStore,
  StoredConversation,
  StoredEndUser,
  StoredMessage,
} from "../storage/runs-store.ts";
import type { AppDefinition } from "./app-definitions.ts";
import { messageFileResponse } from "./app-files.ts";
import { type AppContext, requireApp } from "./context.ts";
import { shownForms, submission } from "./run-events.ts";
import { fillShape, appError } from "./shapes.ts";

/** Conversations, their messages and variables. */
const handlers: Handlers<typeof operations, AppContext> = {
  listConversations({ records }, input, call) {
    const { app, id: end_user_id } = chatUser(records, call, input);
    const limit = numberParam(call.query, "ConversationListQuery", "limit", [1, 100]);
    const order = input.sort_by ?? "-updated_at";
    const column = order.endsWith("created_at") ? "created_at" : "updated_at";
    const direction = order.startsWith("-") ? "DESC" : "ASC";
    const all = records.conversations.list(
      { app, end_user_id },
      `${column} ${direction}, rowid DESC`,
    );
    const skipsSecond = column === "created_at";
    const last = call.query.get("last_id");
    const rows = rowsAfter(all, last, appError("last conversation missing"), skipsSecond);
    return { json: firstPage("conversation", rows, limit) };
  },

  renameConversation({ records }, input, call) {
    const conversation = requireConversation(records, call, input);
    if (input.auto_generate) throw appError("no model for names");
    if (!input.name) throw nameMissing(call.body);
    const changes = { name: input.name, updated_at: records.now() };
    records.conversations.update({ id: conversation.id }, changes);
    return { json: fillShape("conversation", { ...conversation, ...changes }) };
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
    const { id } = requireConversation(records, call, input);
    const limit = numberParam(call.query, "ConversationVariablesQuery", "limit", [1, 100]);
    // The server's filter by name fails (server §18).
    if (call.query.has("variable_name")) throw internalServerError();
    const last = call.query.get("last_id");
    const rows = rowsAfter(listVariables(records, id), last, appError("variable missing"));
    return { json: firstPage("conversation variable", rows, limit) };
  },

  setConversationVariable({ records }, input, call) {
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
};

export const conversationHandlers = bindHandlers(operations, handlers);

/** Returns the end user of a chat route; without one, the server uses a user without data (server §2). */
const chatUser = (
  records: RunStore,
  call: Call,
  input: { readonly user?: string | undefined },
): StoredEndUser =>
  records.endUser(requireApp(call, "advanced-chat").name, input.user ?? "DEFAULT-USER");

const findConversation = (records: RunStore, endUser: StoredEndUser, id: string | undefined) =>
  records.conversations.find({ app: endUser.app, end_user_id: endUser.id, id: id ?? "" });

function requireConversation(
  records: RunStore,
  call: Call,
  input: { readonly user?: string | undefined; readonly conversation_id: string },
): StoredConversation {
  const endUser = chatUser(records, call, input);
  return (
    findConversation(records, endUser, input.conversation_id) ??
    raise(appError("conversation missing"))
  );
}

/**
 * Returns the conversation of a message, with its variables by name. An unknown ID silently creates
 * a conversation (server §18).
 */
export function openConversation(
  records: RunStore,
  app: AppDefinition,
  endUser: StoredEndUser,
  message: { readonly conversation_id?: string | undefined; readonly query: string },
): { readonly id: string; readonly variables: Record<string, string> } {
  const known = findConversation(records, endUser, message.conversation_id);
  const id = known?.id ?? createConversation(records, app, endUser, message.query);
  const variables = listVariables(records, id).map(({ name, value }) => [name, value] as const);
  return { id, variables: Object.fromEntries(variables) };
}

function createConversation(
  records: RunStore,
  app: AppDefinition,
  endUser: StoredEndUser,
  name: string,
): string {
  const id = records.newId();
  const now = records.now();
  const times = { created_at: now, updated_at: now };
  const conversation = { id, app: app.name, end_user_id: endUser.id, name, inputs: {}, ...times };
  records.conversations.insert(conversation);
  for (const { name, value, description } of app.variables) {
    const variable = { id: records.newId(), conversation_id: id, name, value, description };
    records.conversation_variables.insert({ ...variable, ...times });
  }
  return id;
}

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

const firstPage = (
  shape: Parameters<typeof fillShape>[0],
  rows: readonly object[],
  limit: number,
) => ({
  limit,
  has_more: rows.length > limit,
  data: rows.slice(0, limit).map((row) => fillShape(shape, { ...row })),
});

const nameMissing = (body: unknown) =>
  validationError("ConversationRenamePayload", {
    field: "",
    reason: "Value error, name is required when auto_generate is false",
    type: "value_error",
    value: body,
  });

/** The server's name for the type of a value. */
function typeName(value: unknown): string {
  if (Array.isArray(value)) return "array[any]";
  if (value === null) return "none";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "float";
  return typeof value;
}

function messageResponse(
  records: RunStore,
  endUser: StoredEndUser,
  message: StoredMessage,
  call: Call,
) {
  const feedback = records.feedbacks.find({ message_id: message.id, end_user_id: endUser.id });
  return fillShape("message", {
    message,
    feedback: feedback ? { rating: feedback.rating } : null,
    files: message.files.flatMap(
      ({ related_id }) => messageFileResponse(records, message.id, related_id, call.origin) ?? [],
    ),
    forms: messageForms(records, call.app, message),
  });
}

/** The forms of a message's run: open ones with their token, submitted ones with their inputs. */
const messageForms = (
  records: RunStore,
  app: AppDefinition | undefined,
  { run_id }: StoredMessage,
) =>
  shownForms(app, records.forms.list({ run_id }, "expires_at")).map(({ form, node, content }) => {
    const submitted = form.status === "submitted";
    return fillShape("message form", {
      form,
      node,
      content,
      submitted,
      token: submitted ? null : form.token,
      submission: submitted ? fillShape("form submission", submission(form, node)) : null,
    });
  });
