import { isObject } from "../../lib/json.ts";
import { raise } from "../http/errors.ts";
import type { Call, Clock } from "../http/handler.ts";
import type { Retrieve } from "../knowledge/retrieval/retrieve.ts";
import type { LanguageModel } from "../models/language-model.ts";
import type { RunStore } from "../storage/runs-store.ts";
import type { AppDefinition } from "./app-definitions.ts";
import type { Engine } from "./engine.ts";
import type { Channels } from "./event-stream.ts";
import type { StopMode } from "./segment.ts";
import { appError } from "./shapes.ts";

/** What the handlers of applications share. */
export interface AppContext {
  readonly records: RunStore;
  readonly engine: Engine;
  readonly channels: Channels;
  readonly clock: Clock;
  /** The language model; undefined if the server has no models at all. */
  readonly model: LanguageModel | undefined;
  readonly retrieve: Retrieve;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** Returns the application whose key was sent; throws HttpError if it has another mode. */
export function requireApp(call: Call, mode?: AppDefinition["mode"]): AppDefinition {
  const app = call.app ?? raise(appError("app missing"));
  if (mode === undefined || app.mode === mode) return app;
  throw appError(mode === "workflow" ? "not a workflow" : "not a chat");
}

/** Returns the end user of a route that requires one (server §2). */
export function requireUser(input: { readonly user?: string | undefined }): string {
  if (input.user) return input.user;
  throw appError("user missing");
}

/** Reports whether the request wants events; the default is a blocking response (server §13). */
export const isStreaming = (call: Call): boolean =>
  isObject(call.body) && call.body["response_mode"] === "streaming";

export const stopMode = (call: Call): StopMode =>
  call.plan["stays-running"] ? "stays running" : "recorded";
