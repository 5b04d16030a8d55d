import { ApiError, changedInJson } from "../errors.ts";
import type { CliError } from "../errors.ts";

/** The error as JSON; its fields are stable. */
export function errorJson(error: CliError): { readonly error: Readonly<Record<string, unknown>> } {
  const { hint, code, retryable, details, sideEffect } = error.info;
  const response = error instanceof ApiError ? error.response : undefined;
  return {
    error: {
      code: code ?? error.kind,
      message: error.message,
      hint: hint ?? null,
      exit: error.exit,
      http_status: response?.status ?? null,
      server_code: response?.serverCode ?? null,
      retryable: retryable ?? false,
      method: response?.method ?? null,
      path: response?.path ?? null,
      request_id: response?.requestId ?? null,
      details: details ?? null,
      changed: sideEffect === undefined ? null : changedInJson[sideEffect],
    },
  };
}
