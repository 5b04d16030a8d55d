import { ApiError, CliError, diskProblem } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";

/** How errors are to be shown. */
export interface ErrorStyle {
  readonly json: boolean;
  readonly color: boolean;
  /** -vvv shows stacks. */
  readonly verbosity: number;
  /** Makes text of servers safe to show, on one line: nobody shall add a hint of their own. */
  readonly visible: (text: string) => string;
  /** The same for JSON text. */
  readonly escaped: (json: string) => string;
}

/** Anything thrown, as a failure of ours; what is not one is a bug. `folders`: the programs' own. */
export const toCliError = (error: unknown, folders: readonly string[] = []): CliError =>
  error instanceof CliError ? error : (diskFailure(error, folders) ?? tooDeep(error) ?? bug(error));

/** An error of the file system, which is no bug: the machine says no. */
function diskFailure(error: unknown, folders: readonly string[]): CliError | undefined {
  const problem = diskProblem(error);
  if (!problem || !(error instanceof Error) || !("path" in error)) return undefined;
  // Whoever takes away what we looked at a moment ago is not foreseen.
  if ("code" in error && error.code === "ENOENT") return undefined;
  const path = String(error.path);
  const ours = folders.some((folder) => path.startsWith(folder));
  return new CliError(problem.kind, `${path}: ${problem.reason}`, {
    cause: error,
    hint: ours
      ? "KB_CONFIG_DIR, KB_STATE_DIR, KB_DATA_DIR and KB_CACHE_DIR choose other folders"
      : undefined,
  });
}

/** JSON may be nested deeper than any program can follow that walks through it. */
const tooDeep = (error: unknown): CliError | undefined =>
  error instanceof RangeError && error.message.includes("call stack")
    ? new CliError("failure", "the answer is nested too deep to be shown", {
        cause: error,
        hint: "the server did what was asked; only its answer cannot be shown",
      })
    : undefined;

const bug = (error: unknown): CliError =>
  new CliError(
    "failure",
    `a bug of ours: ${error instanceof Error ? error.message : String(error)}`,
    {
      code: "bug",
      cause: error,
      hint: "please report it with the output of -vvv",
    },
  );

/** The text for standard error: three lines for people, one JSON line for programs. */
export function errorText(error: CliError, telling: ErrorStyle): string {
  return telling.json
    ? `${telling.escaped(JSON.stringify(errorJson(error)))}\n`
    : asText(error, telling);
}

/** The error as programs read it. */
export function errorJson(error: CliError): { readonly error: Readonly<Record<string, unknown>> } {
  const { hint, code, retryable, details, sideEffect } = error.info;
  const refusal = error instanceof ApiError ? error.response : undefined;
  return {
    error: {
      code: code ?? error.kind,
      message: error.message,
      hint: hint ?? null,
      exit: error.exit,
      http_status: refusal?.status ?? null,
      server_code: refusal?.serverCode ?? null,
      retryable: retryable ?? false,
      method: refusal?.method ?? null,
      path: refusal?.path ?? null,
      request_id: refusal?.requestId ?? null,
      details: details ?? null,
      changed: sideEffect === undefined ? null : CHANGED[sideEffect],
    },
  };
}

/** An error and everything that caused it, each with the frames of its stack on lines of their own. */
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

/** The words of `changed` in JSON errors, which scripts compare. */
const CHANGED = { none: "nothing", unknown: "unknown", applied: "yes" } as const;

const sideEffects = {
  none: "no changes were made",
  unknown: "the change may have been applied",
  applied: "some changes were made",
} as const;

function asText(error: CliError, { color, verbosity, visible }: ErrorStyle): string {
  const { hint, sideEffect, details } = error.info;
  const red = (text: string) => (color ? `\u001b[31m${text}\u001b[39m` : text);
  const lines = [`${red("error:")} ${visible(error.message)}`];
  lines.push(...candidateLines(details).map(visible));
  // "Nothing" is what people expect of an error; the hint may say the rest already.
  if (sideEffect !== undefined && sideEffect !== "none" && !hint?.includes(sideEffects[sideEffect]))
    lines.push(sideEffects[sideEffect]);
  if (hint !== undefined) lines.push(`hint: ${visible(hint)}`);
  if (verbosity >= 3) lines.push(...causesOf(error).map(visible));
  return `${lines.join("\n")}\n`;
}

/** A table of what an ambiguous name could mean. */
function candidateLines(details: unknown): string[] {
  const candidates = isObject(details) ? details["candidates"] : undefined;
  if (!Array.isArray(candidates)) return [];
  return candidates
    .filter(isObject)
    .map((candidate) => `  ${Object.values(candidate).map(String).join("  ")}`);
}
