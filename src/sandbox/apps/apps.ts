import {
  getEndUser,
  getAppInfo,
  getAppMeta,
  getAppParameters,
  getSite,
} from "../../operations/apps.ts";
import { annotationHandlers, zonelessTime } from "./annotations.ts";
import { findApp, infoResponse, parametersResponse, siteResponse } from "./app-definitions.ts";
import { fileHandlers } from "./app-files.ts";
import { chatHandlers } from "./chats.ts";
import { conversationHandlers } from "./conversations.ts";
import { openEngine } from "./engine.ts";
import { formHandlers } from "./forms.ts";
import { type Clock, type Handler, on, HttpError } from "../http/handler.ts";
import { logHandlers } from "./logs.ts";
import { appId, tenantId } from "../storage/ids.ts";
import { type StoredEndUser, openRecords, type RunStore } from "../storage/runs-store.ts";
import { requireApp, type AppContext, runHandlers } from "./runs.ts";
import type { Store } from "../storage/sqlite.ts";
import { createChannels } from "../http/sse.ts";

export { appSchema } from "../storage/runs-store.ts";

/** The application side of the sandbox: what answers, whose key is whose, and its end. */
export interface Apps {
  readonly handlers: readonly Handler[];
  /** Name of the application that the key opens; undefined for an unknown key. */
  appOf(key: string): string | undefined;
  /** Ends all background work; unfinished runs go on when the sandbox opens again. */
  stop(): void;
}

/** Opens the applications on a store that has `appSchema`, and goes on with unfinished runs. */
export function openApps(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly version: string;
  readonly bug: (error: unknown, where: string) => void;
}): Apps {
  const { clock, version, bug } = deps;
  const records = openRecords(deps.store, () => clock.now().getTime(), deps.random);
  const channels = createChannels();
  const engine = openEngine({ records, channels, clock, version, bug });
  const closing = new AbortController();
  const room: AppContext = { records, engine, channels, clock, closing: closing.signal };
  engine.reopen();
  return {
    handlers: [
      ...informationHandlers(records),
      ...runHandlers(room),
      ...logHandlers(records),
      ...formHandlers(records, engine),
      ...chatHandlers(room),
      ...conversationHandlers(records),
      ...annotationHandlers(records),
      ...fileHandlers(records),
    ],
    appOf: (key) => (key.startsWith("app-") ? findApp(key.slice("app-".length))?.name : undefined),
    stop() {
      closing.abort();
      engine.close();
    },
  };
}

const informationHandlers = (records: RunStore): readonly Handler[] => [
  on(getAppInfo, (_input, call) => ({ json: infoResponse(requireApp(call)) })),
  on(getAppMeta, () => ({ json: { tool_icons: {} } })),
  on(getAppParameters, (_input, call) => ({ json: parametersResponse(requireApp(call)) })),
  on(getSite, (_input, call) => ({ json: siteResponse(requireApp(call), call.version) })),
  on(getEndUser, (input, call) => {
    const found = records.store.get<StoredEndUser>(
      "SELECT * FROM end_users WHERE app = ? AND id = ?",
      requireApp(call).name,
      input.end_user_id,
    );
    if (!found) throw new HttpError(404, "end_user_not_found", "End user not found.");
    return {
      json: {
        id: found.id,
        tenant_id: tenantId,
        app_id: appId(found.app),
        type: "service-api",
        external_user_id: found.session_id,
        name: null,
        is_anonymous: false,
        session_id: found.session_id,
        created_at: zonelessTime(found.created_at),
        updated_at: zonelessTime(found.created_at),
      },
    };
  }),
];
