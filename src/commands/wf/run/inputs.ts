import { ApiError, CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { appFields, checkValues, parseAssignments } from "./form-fields.ts";
import type { Field } from "./form-fields.ts";
import { requireFiles } from "./upload-files.ts";
import type { Context } from "../../command-spec.ts";

/** Inputs from the command line or a row. */
export interface RawInputs {
  /** As `name=value`. */
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
}

export type MakeInputs = (raw: RawInputs) => Promise<Record<string, unknown>>;

/**
 * Returns a function that parses and checks inputs by the form of the application, before anything is
 * sent or uploaded. It throws `usage` for an unknown, missing or invalid input, and `unsupported` if
 * the key does not belong to a workflow.
 */
export async function inputMaker(context: Context): Promise<MakeInputs> {
  const fields = await readFields(context);
  return async ({ input = [], inputs }) => {
    try {
      const values = parseAssignments(input, fields, isObject(inputs) ? inputs : {});
      checkValues(fields, values);
      await requireFiles(values, context);
      return values;
    } catch (error) {
      // With the key of another type of application, that is the actual mistake.
      await requireWorkflow(context);
      throw error;
    }
  };
}

async function readFields(context: Context): Promise<readonly Field[]> {
  try {
    const { user_input_form } = await context.call(getAppParameters, {});
    return appFields(user_input_form ?? []);
  } catch (error) {
    if (error instanceof ApiError && error.kind !== "auth") await requireWorkflow(context);
    throw error;
  }
}

async function requireWorkflow(context: Context): Promise<void> {
  const { mode } = await context.call(getAppInfo, {});
  if (mode === undefined || mode === "workflow") return;
  throw new CliError(
    "unsupported",
    `the key belongs to an application of mode ${mode}, not a workflow`,
    {
      sideEffect: "none",
      hint: "send messages to chat applications with `wf chat send`",
    },
  );
}
