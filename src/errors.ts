/** Kinds of failure and the exit code of each; `help exit-codes` prints this table. */
export const exitCodes = {
  ok: [0, "Done; nothing to do; already so; a run that partial-succeeded (with a notice)"],
  failure: [1, "Server error after all repeats, an answer that makes no sense, or a bug of ours"],
  usage: [2, "A flag, argument, value, profile or config file is wrong; nothing was sent"],
  "not-found": [3, "404, or a name nobody has"],
  auth: [4, "No key, a refused key, forbidden, or the wrong kind of key"],
  refused: [5, "The server says no to this request, or a name is ambiguous"],
  unsupported: [6, "Wrong application type, an operation this server lacks, a wrong base URL"],
  limited: [7, "Rate, quota or plan limit"],
  paused: [8, "The run waits for a person"],
  "remote-failed": [9, "The command worked, the remote work failed or was stopped"],
  partial: [10, "Some items failed, or what was printed is known to be incomplete"],
  network: [11, "DNS, refused connection, TLS, proxy, reset or time-out"],
  deadline: [12, "--timeout passed while waiting; the remote work may go on"],
  cut: [13, "A followed stream ended without a confirmed end"],
  gate: [14, "Differences with --exit-code, or a threshold or expectation not met"],
  hangup: [129, "Interrupted by SIGHUP"],
  interrupted: [130, "Interrupted by Ctrl-C"],
  terminated: [143, "Interrupted by SIGTERM"],
} as const satisfies Record<string, readonly [number, string]>;

/** Everything that can end a command except success. */
export type FailureKind = Exclude<keyof typeof exitCodes, "ok">;

/** How each signal that is listened to ends a command. */
export const signalKinds = {
  SIGHUP: "hangup",
  SIGINT: "interrupted",
  SIGTERM: "terminated",
} as const satisfies Record<string, FailureKind>;

/** The kind of an end by the signal of this name; Ctrl-C where it is none of them. */
export const kindOfSignal = (name: string): FailureKind =>
  Object.hasOwn(signalKinds, name) ? signalKinds[name as keyof typeof signalKinds] : "interrupted";

/** What an error may tell beside its message. */
export interface ErrorInfo {
  /** One concrete thing to do next. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** Stable word for programs; the kind where nothing finer exists. */
  readonly code?: string | undefined;
  /** Is the same command worth repeating as it is? */
  readonly retryable?: boolean | undefined;
  /** More for programs: candidates of an ambiguous name, failed fields. Must be JSON. */
  readonly details?: unknown;
  /** The command worked and this is its result: what it gave before is printed whole. */
  readonly isResult?: boolean | undefined;
  /** Was anything changed on the server? Said to people and programs. */
  readonly sideEffect?: "none" | "unknown" | "applied" | undefined;
}

/** Code of the error for a run that the server accepted, and then refused to start in its stream. */
export const startRefused = "start-refused";

/** A failure that the program understands; anything else that is thrown is a bug. */
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
}

/** The same error, telling more. */
export const withInfo = <E extends CliError>(error: E, more: ErrorInfo): E =>
  Object.assign(error, { info: { ...error.info, ...more } });

/** What the server said when it refused. */
export interface ServerResponse {
  readonly status: number;
  /** The server's own code, where the body has one. */
  readonly serverCode?: string | undefined;
  readonly method: string;
  readonly path: string;
  /** X-Version header; absent when a proxy answered. */
  readonly version?: string | undefined;
  readonly requestId?: string | undefined;
  /** Date header: the server's clock. */
  readonly date?: string | undefined;
}

/** A refusal by the server (or by something between), with what it said. */
export class ApiError extends CliError {
  readonly response: ServerResponse;

  constructor(kind: FailureKind, message: string, refusal: ServerResponse, info: ErrorInfo = {}) {
    super(kind, message, info);
    this.response = refusal;
  }
}

const diskReasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  EISDIR: "it is a folder",
  EEXIST: "a file is in its place",
  ENOTDIR: "a part of the path is no folder",
  ENOSPC: "the disk is full",
  EDQUOT: "the quota of the disk is used up",
  EFBIG: "the file is larger than is allowed",
  EMFILE: "too many files are open",
  EIO: "the disk fails (input/output error)",
};
/** What the operating system says about a file in plain words; of anything else its own message. */
export const reasonOf = (error: unknown): string =>
  diskProblem(error)?.reason ?? (error instanceof Error ? error.message : String(error));

const machine = ["ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "EIO"];

/**
 * What the operating system says about a file, in plain words, and the kind of failure: a wrong path
 * is one of usage, a machine that fails or has no room is not. Undefined for any other error.
 */
export function diskProblem(
  error: unknown,
): { readonly reason: string; readonly kind: "failure" | "usage" } | undefined {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = diskReasons[code];
  return reason === undefined
    ? undefined
    : { reason, kind: machine.includes(code) ? "failure" : "usage" };
}
