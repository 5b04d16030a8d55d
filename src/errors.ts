/** Failure kinds and their exit codes; `help exit-codes` prints this table. */
export const exitCodes = {
  ok: [0, "Success; nothing to do; a run that partially succeeded (with a notice)"],
  failure: [1, "Server error after all retries, invalid response, or internal error"],
  usage: [2, "Invalid flag, argument, value, profile or config file; nothing was sent"],
  "not-found": [3, "Not found (HTTP 404 or unknown name)"],
  auth: [4, "Missing or rejected key, no permission, or the wrong type of key"],
  refused: [5, "Request rejected by the server, or ambiguous name"],
  unsupported: [
    6,
    "Wrong application type, operation not supported by the server, or wrong base URL",
  ],
  limited: [7, "Rate limit, quota or plan limit"],
  paused: [8, "Run is paused, waiting for human input"],
  "remote-failed": [9, "The command succeeded, but the remote work failed or was stopped"],
  partial: [10, "Some items failed, or the output is known to be incomplete"],
  network: [11, "Network error (DNS, connection, TLS, proxy, timeout)"],
  deadline: [12, "--timeout expired while waiting; the remote work may still be running"],
  cut: [13, "Event stream ended before the run finished"],
  gate: [14, "Differences with --exit-code, or a threshold or expectation not met"],
  hangup: [129, "Interrupted by SIGHUP"],
  interrupted: [130, "Interrupted by Ctrl-C"],
  terminated: [143, "Interrupted by SIGTERM"],
} as const satisfies Record<string, readonly [number, string]>;

/** Every outcome of a command except success. */
export type FailureKind = Exclude<keyof typeof exitCodes, "ok">;

/** The failure kind of each signal. */
export const signalKinds = {
  SIGHUP: "hangup",
  SIGINT: "interrupted",
  SIGTERM: "terminated",
} as const satisfies Record<string, FailureKind>;

/** Optional fields of an error. */
export interface ErrorInfo {
  /** The next step: one command or sentence. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** Stable code for programs (default: the kind). */
  readonly code?: string | undefined;
  /** Whether retrying the same command can help. */
  readonly retryable?: boolean | undefined;
  /** Further data for programs, as JSON: candidates of an ambiguous name, invalid fields. */
  readonly details?: unknown;
  /** The command succeeded; this error is its verdict (e.g. a failed gate), so output is flushed first. */
  readonly isResult?: boolean | undefined;
  /** The command failed after results that stand for themselves: output is flushed first, too. */
  readonly outputFirst?: boolean | undefined;
  /** Whether the server applied a change. */
  readonly sideEffect?: "none" | "unknown" | "applied" | undefined;
  /** The side effect in words for people (default: general ones); empty if the message tells it. */
  readonly effect?: string | undefined;
}

/** Side effects as `changed` in JSON: scripts compare these values. */
export const changedInJson = { none: "nothing", unknown: "unknown", applied: "yes" } as const;

/** Code of the error for a run that the server accepted and then failed to start. */
export const startRefused = "start-refused";

/** Code of the error for a prompt that was ended by Ctrl-D. */
export const endOfInput = "end-of-input";

/** Code of the error for work without an end that the user stops: no failure for people. */
export const stoppedByUser = "stopped";

/** An expected failure; anything else that is thrown is an internal error. */
export class CliError extends Error {
  readonly kind: FailureKind;
  readonly info: ErrorInfo;

  constructor(kind: FailureKind, message: string, info: ErrorInfo = {}) {
    super(message, info.cause === undefined ? undefined : { cause: info.cause });
    this.kind = kind;
    this.info = info;
  }

  get exit(): number {
    return exitCodes[this.kind][0];
  }

  /** A copy with further fields, or another message, that keeps the class, the stack and the cause. */
  with(more: ErrorInfo, message = this.message): this {
    const info = { ...this.info, ...more };
    const copy = new CliError(this.kind, message, { cause: this.cause, ...info });
    Object.defineProperty(copy, "stack", { value: this.stack, configurable: true, writable: true });
    // It has the class of this error: the fields that it lacks are those of that class.
    return Object.assign(Object.setPrototypeOf(copy, Object.getPrototypeOf(this)), this, { info });
  }
}

/** The error for anything that is thrown by mistake: a bug. */
export const internalError = (error: unknown): CliError =>
  new CliError(
    "failure",
    `internal error: ${error instanceof Error ? error.message : String(error)}`,
    {
      code: "bug",
      cause: error,
      hint: "please report this with the output of -vvv",
    },
  );

/** Thrown to stop after the request of a dry run is printed. Not an error. */
export class DryRunShown extends Error {}

/** Returns a function that makes errors of a kind for commands that have changed nothing yet. */
const unchanged =
  (kind: FailureKind) =>
  (message: string, hint?: string, info: ErrorInfo = {}): CliError =>
    new CliError(kind, message, { sideEffect: "none", hint, ...info });

/** The error for invalid input; nothing was changed. */
export const usage = unchanged("usage");
/** The error for something that does not exist; nothing was changed. */
export const notFound = unchanged("not-found");
/** The error for a request that the server rejects or would reject; nothing was changed. */
export const refused = unchanged("refused");

/** The verdict of a command that succeeded: it follows the result. */
export const verdict = (
  kind: FailureKind,
  message: string,
  details: object,
  hint?: string,
): CliError => new CliError(kind, message, { isResult: true, details, hint });

/** Makes a failure of these kinds undefined: `.catch(ignoring("not-found"))`; any other is thrown again. */
export const ignoring =
  (...kinds: readonly FailureKind[]) =>
  (error: unknown): undefined => {
    if (!(error instanceof CliError) || !kinds.includes(error.kind)) throw error;
  };

/**
 * The error for an aborted signal, whose reason is a CliError (a deadline) or the name of a signal;
 * Ctrl-C for any other name.
 */
export function abortError({ reason }: AbortSignal, writes = false): CliError {
  if (reason instanceof CliError) {
    const { kind, message, info } = reason;
    return new CliError(kind, message, { ...info, ...(writes && { sideEffect: "unknown" }) });
  }
  const kind = Object.entries(signalKinds).find(([name]) => name === reason)?.[1] ?? "interrupted";
  return new CliError(kind, "interrupted", { sideEffect: writes ? "unknown" : "none" });
}

/** The error response of the server. */
export interface ServerResponse {
  readonly status: number;
  /** The server's own code, if the body has one. */
  readonly serverCode?: string | undefined;
  readonly method: string;
  readonly path: string;
  /** X-Version header; absent if a proxy responded. */
  readonly version?: string | undefined;
  readonly requestId?: string | undefined;
  /** Date header: the server's clock. */
  readonly date?: string | undefined;
}

/** An error response of the server or of a proxy. */
export class ApiError extends CliError {
  readonly response: ServerResponse;

  constructor(kind: FailureKind, message: string, response: ServerResponse, info: ErrorInfo = {}) {
    super(kind, message, info);
    this.response = response;
  }
}

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

const always: ReadonlySet<FailureKind> = new Set([
  "unsupported",
  ...Object.values(signalKinds),
  "deadline",
]);

/** Would every further request fail the same way, e.g. for a wrong key or without a server? */
export function isFatal(error: CliError): boolean {
  const status = error instanceof ApiError ? error.response.status : undefined;
  const { sideEffect, retryable } = error.info;
  if (always.has(error.kind)) return true;
  if (error.kind === "auth") return status !== 403; // the key may be bound to other knowledge bases
  if (error.kind === "limited") return status === 403 || !retryable;
  return error.kind === "network" && sideEffect === "none";
}

/** The code of a system error, such as `ENOENT`; empty for any other error. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Does this system error mean that a file does not exist? */
export const isMissing = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(error));

const diskReasons: Readonly<Record<string, string>> = {
  ENOENT: "file not found",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "read-only file system",
  EISDIR: "is a directory",
  EEXIST: "file already exists",
  ENOTDIR: "not a directory",
  ELOOP: "is a link that is not followed",
  ENOSPC: "disk full",
  EDQUOT: "disk quota exceeded",
  EFBIG: "file too large",
  EMFILE: "too many open files (`ulimit -n` shows the limit)",
  ENFILE: "too many open files on this machine",
  ENOMEM: "out of memory",
  EIO: "input/output error",
};
/** The reason of a file error in plain words; the message of any other error. */
export const reasonOf = (error: unknown): string =>
  diskProblem(error)?.reason ?? (error instanceof Error ? error.message : String(error));

/** The line for an error that nothing else can report. */
export const lastLine = (error: unknown): string =>
  `error: ${diskProblem(error) ? reasonOf(error) : asCliError(error).message}\n`;

/** The error itself, or the internal error for anything else. */
export const asCliError = (error: unknown): CliError =>
  error instanceof CliError ? error : internalError(error);

/** Is this the system error for a directory in a place where none can be created, such as /proc? */
export const isUncreatable = (error: unknown): boolean =>
  codeOf(error) === "ENOENT" && (error as NodeJS.ErrnoException).syscall === "mkdir";

const machineErrors = ["ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "ENFILE", "ENOMEM", "EIO"];

/**
 * The reason of a file error and its failure kind: `usage` for a wrong path, `failure` for a full or
 * failing disk. Undefined for any other error.
 */
export function diskProblem(
  error: unknown,
): { readonly reason: string; readonly kind: "failure" | "usage" } | undefined {
  const code = codeOf(error);
  const reason = isUncreatable(error) ? "directory cannot be created" : diskReasons[code];
  return reason === undefined
    ? undefined
    : { reason, kind: machineErrors.includes(code) ? "failure" : "usage" };
}

/** The error and its causes, each followed by its stack frames, one per line. */
export function causesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return error === undefined ? [] : [String(error)];
  const frames = (error.stack ?? "").split("\n").filter((line) => /^ {4}at /.test(line));
  const inner: unknown[] = error instanceof AggregateError ? error.errors : [];
  const causes = [...inner, error.cause].map(causesOf).filter(([first]) => first !== undefined);
  return [
    String(error),
    ...frames,
    ...causes.flatMap(([first, ...rest]) => [`caused by: ${first}`, ...rest]),
  ];
}
