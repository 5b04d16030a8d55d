import { HttpError } from "./handler.ts";
import { pythonRepr, pythonType } from "./python-repr.ts";

/** pydantic's fixed error texts by error type. */
const REASONS = {
  missing: "Field required",
  string_type: "Input should be a valid string",
  bool_type: "Input should be a valid boolean",
  bool_parsing: "Input should be a valid boolean, unable to interpret input",
  int_type: "Input should be a valid integer",
  int_parsing: "Input should be a valid integer, unable to parse string as an integer",
  int_from_float: "Input should be a valid integer, got a number with a fractional part",
  float_type: "Input should be a valid number",
  float_parsing: "Input should be a valid number, unable to parse string as a number",
  list_type: "Input should be a valid list",
  dict_type: "Input should be a valid dictionary",
  model_attributes_type: "Input should be a valid dictionary or object to extract fields from",
} as const;

/** What is wrong with a value; `reason` is required for types without a fixed text. */
export type Problem =
  | { readonly type: keyof typeof REASONS; readonly reason?: undefined }
  | { readonly type: string; readonly reason: string };

/** An invalid field by its dotted path, which is empty for the body itself. */
export type ValidationProblem = Problem & { readonly field: string; readonly value: unknown };

/** The error of a body, query or response that does not fit its model (server §3). */
export function validationError(
  model: string,
  ...problems: readonly ValidationProblem[]
): HttpError {
  const errors = problems.length === 1 ? "error" : "errors";
  const lines = problems.flatMap((problem) => {
    const { field, type, value } = problem;
    const reason = problem.reason ?? REASONS[problem.type];
    return [
      ...(field === "" ? [] : [field]),
      `  ${reason} [type=${type}, input_value=${pythonRepr(value)}, input_type=${pythonType(value)}]`,
      `    For further information visit https://errors.pydantic.dev/2.12/v/${type}`,
    ];
  });
  const text = [`${problems.length} validation ${errors} for ${model}`, ...lines].join("\n");
  return new HttpError(400, "invalid_param", text);
}
