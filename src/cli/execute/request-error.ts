import { ApiError, CliError } from "../../errors.ts";
import type { Values } from "../../api/request.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { flagOf } from "../parse/command.ts";
import { withPrefix } from "./command-texts.ts";
import { commandLine, mapCommands } from "../../lib/command-line.ts";

/**
 * Adds what the row knows to an error of its request: the action that failed, the meaning of a known
 * message, the flag of a missing field, and how to look at an invalid response.
 */
export function explainRequestError(
  error: unknown,
  row: AnyOperation,
  input: Values,
  path: string,
): unknown {
  if (!(error instanceof CliError) || error.kind === "interrupted") return error;
  const { message } = error;
  const explained = withPrefix(withKnownMeaning(error, row, input), row);
  if (explained.info.code === "invalid-response" && row.route.startsWith("GET ")) {
    const program = row.key === "dataset" ? "kb" : "wf";
    return explained.with({
      hint: `run ${commandLine(`${program} api`, ["GET", path])} to see the response`,
    });
  }
  const name = /(?:^|[\s"'])([\w.]+) is required/.exec(message)?.[1] ?? "";
  const param = Object.hasOwn(row.params, name) ? row.params[name] : undefined;
  if (explained.kind === "refused" && explained.info.hint === undefined && param !== undefined) {
    const values = param.choices ? ` (one of: ${param.choices.join(", ")})` : "";
    return explained.with({ hint: `add --${flagOf(name, param)}${values}` });
  }
  return explained;
}

/** The same error with the kind and hint that the row has for its message. */
function withKnownMeaning(error: CliError, row: AnyOperation, input: Values): CliError {
  if (!(error instanceof ApiError)) return error;
  const { message, response, info } = error;
  const known = row.knownErrors?.find((each) => message.includes(each.message));
  if (!known) return error;
  const hint = mapCommands(known.hint, (words) =>
    words.map((word) => word.replace(/^\{(\w+)\}$/, (_, name: string) => String(input[name]))),
  );
  return new ApiError(known.kind, message, response, { ...info, code: known.kind, hint });
}
