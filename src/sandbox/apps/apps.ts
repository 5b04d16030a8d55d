import type * as operations from "../../operations/apps.ts";
import { appRows } from "../../operations/index.ts";
import { atLeast } from "../../lib/version.ts";
import { appKey } from "../protocol/ids.ts";
import { raise } from "../protocol/response.ts";
import { bindHandlers } from "../protocol/handler.ts";
import type { LanguageModel } from "../models/language-model.ts";
import type { ModelAccess } from "../models/catalog.ts";
import { openRunStore } from "./records/runs-store.ts";
import type { Basics } from "../storage/sqlite.ts";
import { annotationHandlers, shownSettings } from "./annotations.ts";
import { audioHandlers, fileHandlers } from "./inputs.ts";
import { chatHandlers } from "./chats.ts";
import { type AppCall, type AppContext, type AppHandlers } from "./context.ts";
import { conversationHandlers } from "./conversations.ts";
import { Engine, type EngineOptions } from "./run/engine.ts";
import { Channels } from "./run/event-stream.ts";
import { formHandlers, runHandlers } from "./runs.ts";
import { RuleDraws } from "./definitions/answer-rules.ts";
import { fillShape, appError } from "./records/shapes.ts";

/** The application side of the sandbox. */
export type Apps = ReturnType<typeof openApps>;

interface AppDependencies extends Basics, Omit<EngineOptions, "records" | "channels" | "model"> {
  readonly model: LanguageModel | undefined;
  readonly models: ModelAccess;
  /** Determines the answers that rules draw. */
  readonly seed: number;
}

/** Opens the applications on a store, and resumes unfinished runs. */
export function openApps(dependencies: AppDependencies) {
  const { applications, seed } = dependencies;
  const records = openRunStore(dependencies);
  const channels = new Channels();
  const engine = new Engine({ ...dependencies, records, channels });
  const closing = new AbortController();
  const context: AppContext = {
    ...dependencies,
    records,
    engine,
    channels,
    draws: new RuleDraws(seed),
    answers: new Map(),
    closing: closing.signal,
  };
  engine.resumeUnfinished();
  const byKey = new Map([...applications].map(([name, app]) => [appKey(name), app]));
  return {
    handlers: bindHandlers<typeof appRows, AppContext, AppCall>(appRows, handlers, context),
    /** Returns the application that a key belongs to. */
    findAppByKey: (key: string) => byKey.get(key),
    records,
    /** Clears the caches of answers; returns how many these were. */
    clearCaches: () => context.draws.clearCaches(),
    /** Ends all background work; unfinished runs resume when the sandbox starts again. */
    stop() {
      closing.abort();
      engine.close();
    },
  };
}

const infoHandlers: AppHandlers<typeof operations> = {
  getAppInfo: (_context, _input, call) => ({ json: fillShape("info", { ...call.app }) }),

  getAppMeta(_context, _input, call) {
    const tools = call.app.config?.agent_mode?.tools ?? [];
    const providers = `${call.origin}/console/api/workspaces/current/tool-provider/builtin`;
    const icons = tools.flatMap(({ tool_name, provider_id }) =>
      provider_id === undefined ? [] : [[tool_name, `${providers}/${provider_id}/icon`]],
    );
    return { json: { tool_icons: Object.fromEntries(icons) } };
  },

  getAppParameters(context, _input, call) {
    const { name, mode, inputs, features } = call.app;
    // The fields of the input form, in the server's order.
    const user_input_form = inputs.map(
      ({ label, options = [], required = false, type, variable, ...rest }) => ({
        [type]: { label, options, required, type, variable, ...rest },
      }),
    );
    const { version } = call;
    const opening_statement = mode === "workflow" && atLeast(version, "1.16.0") ? null : "";
    const defaults = fillShape("parameters", { user_input_form, opening_statement, version });
    const own = Object.keys(defaults).filter((name) => Object.hasOwn(features, name));
    const offered = Object.fromEntries(own.map((name) => [name, features[name]]));
    return { json: { ...defaults, ...offered, annotation_reply: shownSettings(context, name) } };
  },

  getSite(_context, _input, call) {
    return { json: fillShape("site", { name: call.app.name, version: call.version }) };
  },

  getEndUser({ records }, { end_user_id: id }, call) {
    const user = records.end_users.find({ app: call.app.name, id });
    return { json: fillShape("end user", user ?? raise(appError("end user missing"))) };
  },
};

const handlers: AppHandlers<typeof appRows> = {
  ...infoHandlers,
  ...runHandlers,
  ...formHandlers,
  ...chatHandlers,
  ...conversationHandlers,
  ...annotationHandlers,
  ...audioHandlers,
  ...fileHandlers,
};
