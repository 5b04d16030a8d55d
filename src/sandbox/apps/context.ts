import { isObject } from "../../lib/json.ts";
import { raise } from "../protocol/errors.ts";
import type { Call, Clock } from "../protocol/handler.ts";
import type { Retrieve } from "../knowledge/retrieval/retrieve.ts";
import type { LanguageModel } from "../models/language-model.ts";
import type { ModelAccess } from "../models/model-access.ts";
import type { RunStore } from "./records/runs-store.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import type { Engine } from "./run/engine.ts";
import type { RuleDraws } from "./definitions/answer-rules.ts";
import type { Channels } from "./run/event-stream.ts";
import type { StopMode } from "./run/segment.ts";
import { appError } from "./records/shapes.ts";

/** An answer that is being written. */
export interface AnswerTask {
  readonly app: string;
  readonly end_user_id: string;
  readonly stop: AbortController;
}

/** What the handlers of applications share. */
export interface AppContext {
  readonly records: RunStore;
  readonly engine: Engine;
  readonly channels: Channels;
  readonly clock: Clock;
  /** The language model; undefined if the server has no models at all. */
  readonly model: LanguageModel | undefined;
  readonly models: ModelAccess;
  /** Draws the answers of applications with rules. */
  readonly draws: RuleDraws;
  readonly retrieve: Retrieve;
  /** The answers that basic applications are writing, by the ID of their task. */
  readonly answers: Map<string, AnswerTask>;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

type Mode = AppDefinition["mode"];

/** The modes whose messages belong to a conversation. */
const CHAT_MODES = ["advanced-chat", "chat", "agent-chat"] as const satisfies readonly Mode[];

/** The errors of routes that belong to one mode; all others belong to chats. */
const WRONG_MODE: Partial<Record<Mode, Parameters<typeof appError>[0]>> = {
  workflow: "not a workflow",
  completion: "app unavailable",
};

/** Returns the application whose key was sent; throws HttpError if it has none of these modes. */
export function requireApp(call: Call, ...modes: readonly Mode[]): AppDefinition {
  const app = call.app ?? raise(appError("app missing"));
  const [first] = modes;
  if (first === undefined || modes.includes(app.mode)) return app;
  throw appError(WRONG_MODE[first] ?? "not a chat");
}

/** Returns the application whose key was sent; throws HttpError if it is none for chats. */
export const requireChat = (call: Call): AppDefinition => requireApp(call, ...CHAT_MODES);

/** Returns the end user of a route that requires one (server §2). */
export function requireUser(input: { readonly user?: string | undefined }): string {
  if (input.user) return input.user;
  throw appError("user missing");
}

/** Reports whether the request wants events; the default is a blocking response (server §13). */
export const isStreaming = (call: Call): boolean =>
  isObject(call.body) && call.body["response_mode"] === "streaming";

/** Aborted when the client disconnects or the sandbox closes. */
export const closing = (context: AppContext, call: Call): AbortSignal =>
  AbortSignal.any([call.signal, context.closing]);

export const stopMode = (call: Call): StopMode =>
  call.plan["stays-running"] ? "stays running" : "recorded";
