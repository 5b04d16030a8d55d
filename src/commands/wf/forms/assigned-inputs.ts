import { isObject } from "../../../lib/json.ts";
import { getAppParameters } from "../../../operations/apps.ts";
import type { Context } from "../../command-spec.ts";
import { appFields, parseAssignments } from "./fields.ts";
import { requireFiles, uploadInputFiles } from "./files.ts";

/**
 * The values of --inputs with those of --input over them, which the form of the application types and
 * whose files are uploaded. Throws `usage` for an unknown name or an invalid value.
 */
export async function assignedInputs(
  {
    input = [],
    inputs,
  }: { readonly input?: readonly string[] | undefined; readonly inputs?: unknown },
  context: Context,
): Promise<Record<string, unknown>> {
  const given = isObject(inputs) ? inputs : {};
  if (input.length === 0) return given;
  const { user_input_form } = await context.call(getAppParameters, {});
  const values = parseAssignments(input, appFields(user_input_form ?? []), given);
  await requireFiles(values, context);
  return uploadInputFiles(values, context);
}
