import * as operations from "../../operations/chats.ts";
import { internalServerError, notFound, notFoundAt } from "../http/errors.ts";
import { bindHandlers, type Call, type Handlers, HttpError } from "../http/handler.ts";
import { numberParam } from "../http/page-params.ts";
import { validationError } from "../http/pydantic.ts";
import { toSeconds } from "../storage/ids.ts";
import type { RunStore, StoredEndUser, StoredMessage } from "../storage/runs-store.ts";
import type { AppDefinition } from "./app-definitions.ts";
import { messageFileResponse } from "./app-files.ts";
import { type AppContext, requireApp } from "./context.ts";
import { filledFields, formEventFields, openForms, renderForm } from "./run-events.ts";

interface Conversation {
  readonly id: string;
  readonly app: string;
  readonly end_user_id: string;
  readonly name: string;
  readonly inputs: string;
  readonly created_at: number;
  readonly updated_at: number;
}

interface Variable {
  readonly id: string;
  readonly conversation_id: string;
  readonly name: string;
  readonly value: string;
  readonly description: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** Conversations, their messages and variables. */
const handlers: Handlers<typeof operations, AppContext> = {
  listConversations({ records }, input, call) {
    const endUser = chatUser(records, call, input);
    const limit = numberParam(call.query, "ConversationListQuery", "limit", 20, [1, 100]);
    const order = input.sort_by ?? "-updated_at";
    const column = order.endsWith("created_at") ? "created_at" : "updated_at";
    const all = records.store.all<Conversation>(
      `SELECT * FROM conversations WHERE app = ? AND end_user_id = ?
       ORDER BY ${column} ${order.startsWith("-") ? "DESC" : "ASC"}, rowid DESC`,
      endUser.app,
      endUser.id,
    );
    const rowsAfter = column === "created_at" ? rowsInOtherSeconds : rowsAfterId;
    const rows = rowsAfter<Conversation>(all, call.query.get("last_id"), () =>
      notFoundAt("Last Conversation Not Exists.", "/v1/conversations", [
        "/v1/conversations",
        "/v1/conversations/<uuid:c_id>/variables/<uuid:variable_id>",
        "/api/conversations",
      ]),
    );
    return { json: firstPage(rows.map(conversationResponse), limit) };
  },

  renameConversation({ records }, input, call) {
    const { id } = requireConversation(records, call, input);
    if (input.auto_generate) {
      throw new HttpError(501, "not_implemented", "The sandbox has no model to generate names.");
    }
    if (!input.name) throw nameMissing(call.body);
    const changes = { name: input.name, updated_at: records.now() };
    records.store.update("conversations", id, changes);
    return { json: conversationResponse(requireConversation(records, call, input)) };
  },

  deleteConversation({ records }, input, call) {
    const { store } = records;
    const { id } = requireConversation(records, call, input);
    store.transaction(() => {
      store.run("DELETE FROM conversation_variables WHERE conversation_id = ?", id);
      store.run("DELETE FROM messages WHERE conversation_id = ?", id);
      store.run("DELETE FROM conversations WHERE id = ?", id);
    });
    return { status: 204 };
  },

  listMessages({ records }, input, call) {
    const endUser = chatUser(records, call, input);
    const limit = numberParam(call.query, "MessageListQuery", "limit", 20, [1, 100]);
    const conversation = findConversation(records, endUser, input.conversation_id);
    const missing = (text: string) =>
      notFoundAt(text, "/v1/messages", ["/v1/messages", "/v1/chat-messages", "/api/messages"]);
    if (!conversation) throw missing("Conversation Not Exists.");
    const newestFirst = records.store.all<StoredMessage>(
      "SELECT * FROM messages WHERE conversation_id = ? ORDER BY position DESC",
      conversation.id,
    );
    const older = rowsInOtherSeconds<StoredMessage>(newestFirst, call.query.get("first_id"), () =>
      missing("First Message Not Exists."),
    );
    const page = firstPage(older, limit);
    const data = page.data
      .toReversed()
      .map((row) => messageResponse(records, endUser, row, call.origin));
    return { json: { ...page, data } };
  },

  listConversationVariables({ records }, input, call) {
    const conversation = requireConversation(records, call, input);
    const limit = numberParam(call.query, "ConversationVariablesQuery", "limit", 20, [1, 100]);
    // The server's filter by name fails (server §18).
    if (call.query.has("variable_name")) throw internalServerError();
    const all = listVariables(records, conversation.id);
    const rows = rowsAfterId<Variable>(all, call.query.get("last_id"), variableNotFound);
    return { json: firstPage(rows.map(variableResponse), limit) };
  },

  setConversationVariable({ records }, input, call) {
    const conversation = requireConversation(records, call, input);
    const variables = listVariables(records, conversation.id);
    const variable = variables.find(({ id }) => id === input.variable_id);
    if (!variable) throw variableNotFound();
    const { value } = input;
    if (typeof value !== "string") {
      const text = `Type mismatch: variable '${variable.name}' expects string, but got ${typeName(value)} type`;
      throw new HttpError(400, "bad_request", text);
    }
    const changes = { value, updated_at: records.now() };
    records.store.update("conversation_variables", variable.id, changes);
    return { json: variableResponse({ ...variable, ...changes }) };
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
  records.store.get<Conversation>(
    "SELECT * FROM conversations WHERE app = ? AND end_user_id = ? AND id = ?",
    endUser.app,
    endUser.id,
    id ?? "",
  );

function requireConversation(
  records: RunStore,
  call: Call,
  input: { readonly user?: string | undefined; readonly conversation_id: string },
): Conversation {
  const endUser = chatUser(records, call, input);
  const conversation = findConversation(records, endUser, input.conversation_id);
  if (!conversation) throw notFound("Conversation Not Exists.");
  return conversation;
}

const variableNotFound = () => notFound("Conversation Variable Not Exists.");

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
  const conversation = { id, app: app.name, end_user_id: endUser.id, name, inputs: "{}", ...times };
  records.store.insert("conversations", conversation);
  for (const variable of app.variables ?? []) {
    const row = { id: records.newId(), conversation_id: id, ...variable, ...times };
    records.store.insert("conversation_variables", row);
  }
  return id;
}

const listVariables = (records: RunStore, conversationId: string): Variable[] =>
  records.store.all<Variable>(
    "SELECT * FROM conversation_variables WHERE conversation_id = ? ORDER BY created_at, id",
    conversationId,
  );

/** Returns the rows after an ID, or all without one. */
function rowsAfterId<T extends { readonly id: string }>(
  rows: readonly T[],
  id: string | null,
  missing: () => HttpError,
): readonly T[] {
  if (!id) return rows;
  const index = rows.findIndex((row) => row.id === id);
  if (index < 0) throw missing();
  return rows.slice(index + 1);
}

/**
 * Returns the rows after an ID, without those of its second: the server's cursor is the time of the
 * row in whole seconds, so it skips them (server §5).
 */
function rowsInOtherSeconds<T extends { readonly id: string; readonly created_at: number }>(
  rows: readonly T[],
  id: string | null,
  missing: () => HttpError,
): readonly T[] {
  const rest = rowsAfterId(rows, id, missing);
  const cursor = id ? rows.find((row) => row.id === id) : undefined;
  return rest.filter(
    (row) => !cursor || toSeconds(row.created_at) !== toSeconds(cursor.created_at),
  );
}

const firstPage = <T>(rows: readonly T[], limit: number) => ({
  limit,
  has_more: rows.length > limit,
  data: rows.slice(0, limit),
});

const nameMissing = (body: unknown): HttpError =>
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

const conversationResponse = (row: Conversation) => ({
  id: row.id,
  name: row.name,
  inputs: JSON.parse(row.inputs) as unknown,
  status: "normal",
  introduction: "",
  created_at: toSeconds(row.created_at),
  updated_at: toSeconds(row.updated_at),
});

const variableResponse = (row: Variable) => ({
  id: row.id,
  name: row.name,
  value_type: "string",
  value: row.value,
  description: row.description,
  created_at: toSeconds(row.created_at),
  updated_at: toSeconds(row.updated_at),
});

function messageResponse(
  records: RunStore,
  endUser: StoredEndUser,
  row: StoredMessage,
  origin: string,
) {
  const feedback = records.store.get<{ readonly rating: string }>(
    "SELECT rating FROM feedbacks WHERE message_id = ? AND end_user_id = ?",
    row.id,
    endUser.id,
  );
  const files = JSON.parse(row.files) as readonly { readonly related_id?: string }[]; // as stored
  return {
    id: row.id,
    conversation_id: row.conversation_id,
    parent_message_id: "00000000-0000-0000-0000-000000000000",
    inputs: JSON.parse(row.inputs) as unknown,
    query: row.query,
    answer: row.answer,
    feedback: feedback ?? null,
    retriever_resources: [],
    created_at: toSeconds(row.created_at),
    agent_thoughts: [],
    message_files: files.flatMap(({ related_id }) =>
      related_id === undefined
        ? []
        : (messageFileResponse(records, row.id, related_id, origin) ?? []),
    ),
    status: row.status,
    error: null,
    extra_contents: messageForms(records, row),
  };
}

/** The forms of a message's run: open ones with their token, submitted ones with their inputs. */
const messageForms = (records: RunStore, { run_id, app }: StoredMessage) =>
  openForms(app, records.formsOf(run_id)).map((open) => {
    const { form, node } = open;
    const submitted = form.status === "submitted";
    const definition = formEventFields(open);
    return {
      workflow_run_id: run_id,
      submitted,
      form_definition: submitted ? { ...definition, form_token: null } : definition,
      form_submission_data: submitted ? filledFields(form, node, renderForm(form)) : null,
      type: "human_input",
    };
  });
