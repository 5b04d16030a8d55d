import { isObject } from "../../lib/json.ts";
import type { Call, Handlers } from "../protocol/handler.ts";
import type { LanguageModel } from "../models/language-model.ts";
import { type ModelAccess, catalogOf, type ModelKind, hasCredentials } from "../models/catalog.ts";
import type { RunBasics } from "./nodes/node.ts";
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
export interface AppContext extends RunBasics {
  readonly engine: Engine;
  readonly channels: Channels;
  /** The language model; undefined if the server has no models at all. */
  readonly model: LanguageModel | undefined;
  readonly models: ModelAccess;
  /** Draws the answers of applications with rules. */
  readonly draws: RuleDraws;
  /** The answers that basic applications are writing, by the ID of their task. */
  readonly answers: Map<string, AnswerTask>;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** What a handler of an application gets besides its input. */
export interface AppCall extends Call {
  /** The application whose key was sent. */
  readonly app: AppDefinition;
}

/** A handler for each of the rows. */
export type AppHandlers<Rows> = Handlers<Rows, AppContext, AppCall>;

type Mode = AppDefinition["mode"];

/** The modes whose messages belong to a conversation that has variables. */
const CHAT_MODES = ["advanced-chat", "chat", "agent-chat"] as const satisfies readonly Mode[];

/** The errors of routes that belong to one mode; all others belong to chats. */
const WRONG_MODE: Partial<Record<Mode, Parameters<typeof appError>[0]>> = {
  workflow: "not a workflow",
  completion: "app unavailable",
};

/** Returns the application whose key was sent; throws HttpError if it has none of these modes. */
export function requireApp({ app }: AppCall, ...modes: readonly [Mode, ...Mode[]]): AppDefinition {
  if (modes.includes(app.mode)) return app;
  throw appError(WRONG_MODE[modes[0]] ?? "not a chat");
}

/** Returns the application whose key was sent; throws HttpError if it is none for chats. */
export const requireChat = (call: AppCall): AppDefinition =>
  requireApp(call, ...CHAT_MODES, "agent");

/** Throws HttpError if the application whose key was sent has no conversation variables. */
export const requireVariables = (call: AppCall): AppDefinition => requireApp(call, ...CHAT_MODES);

/** Returns the end user of a route that requires one (server §2). */
export function requireUser(input: { readonly user?: string | undefined }): string {
  if (input.user) return input.user;
  throw appError("user missing");
}

/** Reports whether the request wants events; the default is a blocking response (server §13). */
export const isStreaming = ({ body }: AppCall, byDefault = "blocking"): boolean =>
  ((isObject(body) && body["response_mode"]) || byDefault) === "streaming";

/** Aborted when the client disconnects or the sandbox closes. */
export const closing = (context: AppContext, call: AppCall): AbortSignal =>
  AbortSignal.any([call.signal, context.closing]);

export const stopMode = (call: AppCall): StopMode =>
  call.plan["stays-running"] ? "stays running" : "recorded";

/** Checks before a model is used; nothing runs if it is disabled or has no credentials (server §17). */

type Models = Pick<AppContext, "model" | "models">;

/** Returns the language model for an application that names it; throws 400. */
export function requireModel({ model, models }: Models, name: string): LanguageModel {
  if (!model || !hasCredentials(models)) throw appError("model without credentials", { name });
  if (models.disabled.has(name)) throw appError("model disabled", { name });
  return model;
}

/** Throws 400 if the server has no default model of a kind that can be used. */
export function requireDefaultModel(context: Models, kind: ModelKind): void {
  const [first] = catalogOf(kind);
  if (!context.model || !first) throw appError("no default model", { kind });
  requireModel(context, first.model);
}

/** Throws 400 if a node of a workflow names a model that cannot be used. */
export function requireNodeModels(
  { model, models }: Models,
  { nodes, rules }: AppDefinition,
): void {
  if (rules) return; // they answer in its place
  const names = nodes.flatMap((node) => ("model" in node ? [node.model.name] : []));
  if (names.length === 0) return;
  if (!model || !hasCredentials(models)) throw appError("node model without credentials");
  if (names.some((name) => models.disabled.has(name))) throw appError("node model disabled");
}
