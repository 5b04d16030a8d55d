import {
  listConversations,
  listMessages,
  deleteConversation,
  renameConversation,
  setConversationVariable,
  listConversationVariables,
} from "../../operations/chats.ts";
import type { AppDefinition } from "./app-definitions.ts";
import { messageFileResponse } from "./app-files.ts";
import { type Call, type Handler, on, HttpError } from "../http/handler.ts";
import { numberParam } from "../http/page-params.ts";
import { notFound, notFoundAt, internalServerError } from "../http/errors.ts";
import { filledFields, formEventFields, humanInputNode, renderForm } from "./run-events.ts";
import { newId, toSeconds } from "../storage/ids.ts";
import { type StoredEndUser, type StoredMessage, type RunStore } from "../storage/runs-store.ts";
import { requireApp } from "./runs.ts";
import { validationError } from "../http/validation.ts";

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

const noConversation = "Conversation Not Exists.";

const find = (records: RunStore, endUser: StoredEndUser, id: string | undefined) =>
  records.store.get<Conversation>(
    "SELECT * FROM conversations WHERE app = ? AND end_user_id = ? AND id = ?",
    endUser.app,
    endUser.id,
    id ?? "",
  );

/**
 * The conversation a message goes into, with its variables by name. An unknown id silently begins
 * a new one (server §18).
 */
export function openConversation(
  records: RunStore,
  app: AppDefinition,
  endUser: StoredEndUser,
  said: { readonly conversation_id?: string | undefined; readonly query: string },
): { readonly id: string; readonly variables: Record<string, string> } {
  const id =
    find(records, endUser, said.conversation_id)?.id ?? begun(records, app, endUser, said.query);
  const named = variablesOf(records, id).map(({ name, value }) => [name, value] as const);
  return { id, variables: Object.fromEntries(named) };
}

function begun(
  records: RunStore,
  app: AppDefinition,
  endUser: StoredEndUser,
  name: string,
): string {
  const { store, now, random } = records;
  const id = newId(random);
  const at = now();
  store.run(
    "INSERT INTO conversations VALUES (?, ?, ?, ?, '{}', ?, ?)",
    id,
    app.name,
    endUser.id,
    name,
    at,
    at,
  );
  for (const { name: variable, value, description } of app.variables ?? []) {
    store.run(
      "INSERT INTO conversation_variables VALUES (?, ?, ?, ?, ?, ?, ?)",
      newId(random),
      id,
      variable,
      value,
      description,
      at,
      at,
    );
  }
  return id;
}

const variablesOf = (records: RunStore, conversationId: string): Variable[] =>
  records.store.all<Variable>(
    "SELECT * FROM conversation_variables WHERE conversation_id = ? ORDER BY created_at, id",
    conversationId,
  );

/** Conversations, their messages and variables. */
export function conversationHandlers(records: RunStore): readonly Handler[] {
  const { store } = records;

  // Without a user the server takes one that has nothing (server §2).
  const person = (call: Call, input: { readonly user?: string | undefined }): StoredEndUser =>
    records.endUser(requireApp(call, "advanced-chat").name, input.user ?? "DEFAULT-USER");

  function owned(call: Call, input: { readonly user?: string | undefined }, id: string) {
    const conversation = find(records, person(call, input), id);
    if (!conversation) throw notFound(noConversation);
    return conversation;
  }

  return [
    on(listConversations, (input, call) => {
      const endUser = person(call, input);
      const limit = numberParam(call.query, "ConversationListQuery", "limit", 20, [1, 100]);
      const order = input.sort_by ?? "-updated_at";
      const column = order.endsWith("created_at") ? "created_at" : "updated_at";
      const all = store.all<Conversation>(
        `SELECT * FROM conversations WHERE app = ? AND end_user_id = ?
         ORDER BY ${column} ${order.startsWith("-") ? "DESC" : "ASC"}, rowid DESC`,
        endUser.app,
        endUser.id,
      );
      const from = column === "created_at" ? laterSeconds : after;
      const rows = from<Conversation>(all, call.query.get("last_id"), () =>
        notFoundAt("Last Conversation Not Exists.", "/v1/conversations", [
          "/v1/conversations",
          "/v1/conversations/<uuid:c_id>/variables/<uuid:variable_id>",
          "/api/conversations",
        ]),
      );
      return { json: cut(rows.map(conversationOf), limit) };
    }),

    on(renameConversation, (input, call) => {
      const conversation = owned(call, input, input.conversation_id);
      if (input.auto_generate) {
        throw new HttpError(501, "not_implemented", "Making a name needs a model; there is none.");
      }
      if (!input.name) throw nameMissing(call.body);
      store.run(
        "UPDATE conversations SET name = ?, updated_at = ? WHERE id = ?",
        input.name,
        records.now(),
        conversation.id,
      );
      return { json: conversationOf(owned(call, input, conversation.id)) };
    }),

    on(deleteConversation, (input, call) => {
      const { id } = owned(call, input, input.conversation_id);
      store.transaction(() => {
        store.run("DELETE FROM conversation_variables WHERE conversation_id = ?", id);
        store.run("DELETE FROM messages WHERE conversation_id = ?", id);
        store.run("DELETE FROM conversations WHERE id = ?", id);
      });
      return { status: 204 };
    }),

    on(listMessages, (input, call) => {
      const endUser = person(call, input);
      const limit = numberParam(call.query, "MessageListQuery", "limit", 20, [1, 100]);
      const conversation = find(records, endUser, input.conversation_id);
      const missing = (text: string) =>
        notFoundAt(text, "/v1/messages", ["/v1/messages", "/v1/chat-messages", "/api/messages"]);
      if (!conversation) throw missing(noConversation);
      const newestFirst = store.all<StoredMessage>(
        "SELECT * FROM messages WHERE conversation_id = ? ORDER BY position DESC",
        conversation.id,
      );
      const older = laterSeconds<StoredMessage>(newestFirst, call.query.get("first_id"), () =>
        missing("First Message Not Exists."),
      );
      const page = cut(older, limit);
      const rows = page.data
        .toReversed()
        .map((row) => messageOf(records, endUser, row, call.origin));
      return { json: { ...page, data: rows } };
    }),

    on(listConversationVariables, (input, call) => {
      const conversation = owned(call, input, input.conversation_id);
      const limit = numberParam(call.query, "ConversationVariablesQuery", "limit", 20, [1, 100]);
      // The server's own filter by name fails (server §18).
      if (call.query.has("variable_name")) throw internalServerError();
      const all = variablesOf(records, conversation.id);
      const rows = after<Variable>(all, call.query.get("last_id"), () =>
        notFound("Conversation Variable Not Exists."),
      );
      return { json: cut(rows.map(variableOf), limit) };
    }),

    on(setConversationVariable, (input, call) => {
      const conversation = owned(call, input, input.conversation_id);
      const known = variablesOf(records, conversation.id).find(
        ({ id }) => id === input.variable_id,
      );
      if (!known) throw notFound("Conversation Variable Not Exists.");
      const { value } = input;
      if (typeof value !== "string") {
        const text = `Type mismatch: variable '${known.name}' expects string, but got ${kindOf(value)} type`;
        throw new HttpError(400, "bad_request", text);
      }
      const updated = { ...known, value, updated_at: records.now() };
      store.run(
        "UPDATE conversation_variables SET value = ?, updated_at = ? WHERE id = ?",
        value,
        updated.updated_at,
        known.id,
      );
      return { json: variableOf(updated) };
    }),
  ];
}

/** The rows behind that id; all of them without one. */
function after<T extends { readonly id: string }>(
  rows: readonly T[],
  id: string | null,
  unknown: () => HttpError,
): readonly T[] {
  if (!id) return rows;
  const at = rows.findIndex((row) => row.id === id);
  if (at < 0) throw unknown();
  return rows.slice(at + 1);
}

/**
 * The rows behind that id, but for those of its own second: the server's cursor is the time of that
 * row, whole seconds, so that they are skipped (server §5).
 */
function laterSeconds<T extends { readonly id: string; readonly created_at: number }>(
  rows: readonly T[],
  id: string | null,
  unknown: () => HttpError,
): readonly T[] {
  const rest = after(rows, id, unknown);
  const cursor = id ? rows.find((row) => row.id === id) : undefined;
  return rest.filter(
    (row) => !cursor || toSeconds(row.created_at) !== toSeconds(cursor.created_at),
  );
}

const cut = <T>(rows: readonly T[], limit: number) => ({
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

/** The server's word for a kind of value. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "array[any]";
  if (value === null) return "none";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "float";
  return typeof value;
}

const conversationOf = (row: Conversation) => ({
  id: row.id,
  name: row.name,
  inputs: JSON.parse(row.inputs) as unknown,
  status: "normal",
  introduction: "",
  created_at: toSeconds(row.created_at),
  updated_at: toSeconds(row.updated_at),
});

const variableOf = (row: Variable) => ({
  id: row.id,
  name: row.name,
  value_type: "string",
  value: row.value,
  description: row.description,
  created_at: toSeconds(row.created_at),
  updated_at: toSeconds(row.updated_at),
});

function messageOf(records: RunStore, endUser: StoredEndUser, row: StoredMessage, origin: string) {
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
    extra_contents: formsIn(records, row),
  };
}

/** The forms of a message's run: open ones with their token, submitted ones with the answer. */
const formsIn = (records: RunStore, row: StoredMessage) =>
  records.formsOf(row.run_id).flatMap((form) => {
    const node = humanInputNode(form.app, form.nodeId);
    if (!node) return [];
    const submitted = form.status === "submitted";
    const definition = formEventFields({ form, node, content: form.content });
    return [
      {
        workflow_run_id: row.run_id,
        submitted,
        form_definition: submitted ? { ...definition, form_token: null } : definition,
        form_submission_data: submitted ? filledFields(form, node, renderForm(form)) : null,
        type: "human_input",
      },
    ];
  });
