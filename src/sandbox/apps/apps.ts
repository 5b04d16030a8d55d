import * as operations from "../../operations/apps.ts";
import {
  bindHandlers,
  type Clock,
  type Handler,
  type Handlers,
  HttpError,
} from "../http/handler.ts";
import { Channels } from "../http/sse.ts";
import { appId, tenantId } from "../storage/ids.ts";
import { RunStore, type StoredEndUser } from "../storage/runs-store.ts";
import type { Store } from "../storage/sqlite.ts";
import { annotationHandlers, zonelessTime } from "./annotations.ts";
import { findApp, infoResponse, parametersResponse, siteResponse } from "./app-definitions.ts";
import { fileHandlers } from "./app-files.ts";
import { chatHandlers } from "./chats.ts";
import { type AppContext, requireApp } from "./context.ts";
import { conversationHandlers } from "./conversations.ts";
import { Engine } from "./engine.ts";
import { formHandlers } from "./forms.ts";
import { runHandlers } from "./runs.ts";

export { appSchema } from "../storage/runs-store.ts";

/** The application side of the sandbox. */
export interface Apps {
  readonly handlers: readonly Handler[];
  /** Returns the name of the application that a key belongs to. */
  findAppByKey(key: string): string | undefined;
  /** Ends all background work; unfinished runs resume when the sandbox starts again. */
  stop(): void;
}

/** Opens the applications on a store that has `appSchema`, and resumes unfinished runs. */
export function openApps(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly version: string;
  readonly onError: (error: unknown, where: string) => void;
}): Apps {
  const { store, clock, random, version, onError } = deps;
  const records = new RunStore(store, () => clock.now().getTime(), random);
  const channels = new Channels();
  const engine = new Engine({ records, channels, clock, version, onError });
  const closing = new AbortController();
  const context: AppContext = { records, engine, channels, clock, closing: closing.signal };
  engine.resumeUnfinished();
  const sections = [
    infoHandlers,
    runHandlers,
    formHandlers,
    chatHandlers,
    conversationHandlers,
    annotationHandlers,
    fileHandlers,
  ];
  return {
    handlers: sections.flatMap((handlers) => handlers(context)),
    findAppByKey: (key) =>
      key.startsWith("app-") ? findApp(key.slice("app-".length))?.name : undefined,
    stop() {
      closing.abort();
      engine.close();
    },
  };
}

/** Information about the application and its end users. */
const handlers: Handlers<typeof operations, AppContext> = {
  getAppInfo: (_context, _input, call) => ({ json: infoResponse(requireApp(call)) }),

  getAppMeta: () => ({ json: { tool_icons: {} } }),

  getAppParameters: (_context, _input, call) => ({ json: parametersResponse(requireApp(call)) }),

  getSite: (_context, _input, call) => ({ json: siteResponse(requireApp(call), call.version) }),

  getEndUser({ records }, { end_user_id }, call) {
    const user = records.store.get<StoredEndUser>(
      "SELECT * FROM end_users WHERE app = ? AND id = ?",
      requireApp(call).name,
      end_user_id,
    );
    if (!user) throw new HttpError(404, "end_user_not_found", "End user not found.");
    return {
      json: {
        id: user.id,
        tenant_id: tenantId,
        app_id: appId(user.app),
        type: "service-api",
        external_user_id: user.session_id,
        name: null,
        is_anonymous: false,
        session_id: user.session_id,
        created_at: zonelessTime(user.created_at),
        updated_at: zonelessTime(user.created_at),
      },
    };
  },
};

const infoHandlers = bindHandlers(operations, handlers);
