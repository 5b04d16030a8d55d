import { isObject } from "../../lib/json.ts";
import { atLeast } from "../../lib/version.ts";
import { toSeconds } from "../protocol/ids.ts";
import type { StoredEndUser, StoredMessage } from "./records/runs-store.ts";
import type { AppDefinition, ModelConfig } from "./definitions/app-definitions.ts";
import type { AppContext, AppCall } from "./context.ts";
import { findConversation, openConversation } from "./conversations.ts";
import { dataLine } from "../protocol/response.ts";
import { appError } from "./records/shapes.ts";
import type { RunEvent } from "../protocol/fill.ts";
import { fileLookup, type FileLookup, resolveFile, validateInputs } from "./inputs.ts";

/** A message to a basic application, as sent. */
export interface SentMessage {
  /** Empty for completions, whose text is in the inputs. */
  readonly query: string;
  readonly inputs: unknown;
  readonly conversation_id?: string | undefined;
  readonly files?: unknown;
  readonly auto_generate_name?: boolean | undefined;
}

/** A stored message that a basic application answers. */
export interface Turn {
  readonly app: AppDefinition;
  readonly config: ModelConfig;
  readonly endUser: StoredEndUser;
  readonly message: StoredMessage;
  readonly task_id: string;
  /** Origin of the addresses of files. */
  readonly origin: string;
  /** Server version to imitate. */
  readonly version: string;
  /** The answer names the conversation. */
  readonly names: boolean;
}

/** Validates a message and stores it, in a new conversation or in that of the request. */
export function openTurn(
  { records }: AppContext,
  { app, config, endUser }: Pick<Turn, "app" | "config" | "endUser">,
  sent: SentMessage,
  call: AppCall,
): Turn {
  const findFile = fileLookup(records, endUser);
  const { query, conversation_id, auto_generate_name = true } = sent;
  const known = findConversation(records, endUser, conversation_id);
  // A conversation keeps the inputs of its first message; those that were not sent are null.
  const inputs = known?.inputs ?? {
    ...Object.fromEntries(app.inputs.map(({ variable }) => [variable, null])),
    ...validateInputs(app, sent.inputs, findFile),
  };
  const files = acceptedFiles(app, sent.files, findFile);
  return records.store.transaction(() => {
    const { id } = known ?? openConversation(records, app, endUser, { query, inputs });
    const position = records.messages.count({ conversation_id: id }) + 1;
    const message = records.messages.insert({
      position,
      app: app.name,
      conversation_id: id,
      run_id: "",
      inputs,
      query,
      answer: "",
      status: "normal",
      files,
    });
    const names = position === 1 && auto_generate_name;
    const { origin, version } = call;
    return { app, config, endUser, message, task_id: records.newId(), origin, version, names };
  });
}

/** The files of a message; they are dropped if the application accepts none (server §18). */
function acceptedFiles(app: AppDefinition, sent: unknown, findFile: FileLookup): object[] {
  const { file_upload } = app.features;
  if (!file_upload?.enabled || !Array.isArray(sent)) return [];
  return sent.map((each: unknown) => {
    const file: { readonly filename?: string } = resolveFile(each, findFile);
    const type = isObject(each) ? each["type"] : undefined;
    if (!file_upload.allowed_file_types.some((allowed) => allowed === type)) {
      throw appError("file not allowed", { name: file.filename ?? "" });
    }
    return file;
  });
}

/** The conversation that a message reports; completions have none (server §18). */
export const conversationOf = ({ app, message }: Turn): string | undefined =>
  app.mode === "completion" ? undefined : message.conversation_id;

/** Formats an event of a turn; an error names no task, and an end of 1.16 has no nulls (server §18). */
export function turnLine(turn: Turn, { event, fields }: RunEvent): string {
  const isShort = event === "message_end" && atLeast(turn.version, "1.16.0");
  return dataLine({
    event,
    conversation_id: conversationOf(turn),
    message_id: turn.message.id,
    created_at: toSeconds(turn.message.created_at),
    task_id: event === "error" ? undefined : turn.task_id,
    ...(isShort ? { ...withoutInnerNulls(fields), files: fields?.["files"] ?? [] } : fields),
  });
}

const withoutInnerNulls = (fields: object = {}): object =>
  JSON.parse(JSON.stringify(fields, (_, value: unknown) => value ?? undefined)) as object; // it was one
