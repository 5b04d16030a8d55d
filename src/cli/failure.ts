import { ApiError, CliError, diskProblem } from "../errors.ts";
import { isObject } from "../json.ts";

/** How errors are to be shown. */
export interface Telling {
  readonly json: boolean;
  readonly color: boolean;
  /** -vvv shows stacks. */
  readonly verbosity: number;
  /** Makes text of servers safe to show. */
  readonly visible: (text: string) => string;
  /** The same for JSON text. */
  readonly escaped: (json: string) => string;
}

/** Anything thrown, as a failure of ours; what is not one is a bug. */
export const asFailure = (error: unknown): CliError =>
  error instanceof CliError ? error : (diskFailure(error) ?? bug(error));

/** An error of the file system, which is no bug: the machine says no. */
function diskFailure(error: unknown): CliError | undefined {
  const problem = diskProblem(error);
  if (!problem || !(error instanceof Error) || !("path" in error)) return undefined;
  // Whoever takes away what we looked at a moment ago is not foreseen.
  if ("code" in error && error.code === "ENOENT") return undefined;
  return new CliError(problem.kind, `${String(error.path)}: ${problem.reason}`, {
    cause: error,
    hint: "KB_CONFIG_DIR, KB_STATE_DIR, KB_DATA_DIR and KB_CACHE_DIR choose other folders",
  });
}

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
export function told(error: CliError, telling: Telling): string {
  return telling.json
    ? `${telling.escaped(JSON.stringify(asJson(error)))}\n`
    : asText(error, telling);
}

function asJson(error: CliError): unknown {
  const { hint, code, retryable, details, changed } = error.told;
  const refusal = error instanceof ApiError ? error.refusal : undefined;
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
      changed: changed ?? null,
    },
  };
}

const changes = {
  nothing: "nothing was changed",
  unknown: "unknown whether it was applied",
  yes: "something was changed",
} as const;

function asText(error: CliError, { color, verbosity, visible }: Telling): string {
  const { hint, changed, details, cause } = error.told;
  const red = (text: string) => (color ? `\u001b[31m${text}\u001b[39m` : text);
  const lines = [`${red("error:")} ${visible(error.message)}`];
  lines.push(...candidateLines(details).map(visible));
  // "Nothing" is what people expect of an error; the hint may say the rest already.
  if (changed !== undefined && changed !== "nothing" && !(hint ?? "").includes(changes[changed]))
    lines.push(changes[changed]);
  if (hint !== undefined) lines.push(`hint: ${visible(hint)}`);
  if (verbosity >= 3) {
    const stack = cause instanceof Error ? cause.stack : error.stack;
    if (stack !== undefined) lines.push(visible(stack));
  }
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
