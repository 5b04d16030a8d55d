import { isObject } from "../../lib/json.ts";
import { raise } from "../http/errors.ts";
import type { Call, Clock } from "../http/handler.ts";
import type { RunStore } from "../storage/runs-store.ts";
import { type AppDefinition, findApp } from "./app-definitions.ts";
import type { Engine } from "./engine.ts";
import type { Channels } from "./event-stream.ts";
import type { StopMode } from "./segment.ts";
import { appRefusal } from "./shapes.ts";

/** What the handlers of applications share. */
export interface AppContext {
  readonly records: RunStore;
  readonly engine: Engine;
  readonly channels: Channels;
  readonly clock: Clock;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** Returns the application whose key was sent; throws HttpError if it has another mode. */
export function requireApp(call: Call, mode?: AppDefinition["mode"]): AppDefinition {
  const app = findApp(call.app) ?? raise(appRefusal("app missing"));
  if (mode === undefined || app.mode === mode) return app;
  throw appRefusal(mode === "workflow" ? "not a workflow" : "not a chat");
}

/** Returns the end user of a route that requires one (server §2). */
export function requireUser(input: { readonly user?: string | undefined }): string {
  if (input.user) return input.user;
  throw appRefusal("user missing");
}

/** Reports whether the request wants events; the default is a blocking response (server §13). */
export const isStreaming = (call: Call): boolean =>
  isObject(call.body) && call.body["response_mode"] === "streaming";

export const stopMode = (call: Call): StopMode =>
  call.plan["stays-running"] ? "stays running" : "recorded";
