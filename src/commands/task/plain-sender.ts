import { sendOnce } from "../../api/exchange.ts";
import type { HttpRequest } from "../../api/request.ts";
import type { ConnectionSettings } from "../../host/host.ts";
import type { Context } from "./command-spec.ts";

/** Sends single requests that are not of the API, without a key and without retries; `idleTimeout` is in ms. */
export function plainSender(
  connection: ConnectionSettings,
  idleTimeout: number,
  { host }: Context,
) {
  const dispatcher = host.dispatcher(connection);
  dispatcher.catch(() => {}); // thrown by the first request
  const transport = {
    dispatcher: () => dispatcher,
    sleep: host.sleep,
    random: host.random,
    blob: () => Promise.reject(new Error("no file is sent")),
    redact: (text: string) => text,
    trace: () => Promise.resolve(),
  };
  const sending = {
    key: undefined,
    retry: "safe",
    retries: 0,
    idleTimeout,
    signal: host.signal,
  } as const;
  return (request: HttpRequest) => sendOnce(request, sending, transport);
}
