import { ApiError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { getAppParameters } from "../../../operations/apps.ts";
import { requireKind } from "../application.ts";
import { appFields, checkValues, parseAssignments, requireFiles } from "../forms/index.ts";
import type { Field, NamedInputs } from "../forms/index.ts";
import type { Context } from "../../command-spec.ts";

/** Inputs from the command line or a row. */
export interface RawInputs {
  /** As `name=value`. */
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
}

export type MakeInputs = (raw: RawInputs, from?: NamedInputs) => Promise<Record<string, unknown>>;

/** The input form of an application. */
export interface InputForm {
  readonly fields: readonly Field[];
  /**
   * Parses and checks inputs, before anything is sent or uploaded. Throws `usage` for an unknown,
   * missing or invalid input, and `unsupported` if the key does not belong to a workflow.
   */
  readonly makeInputs: MakeInputs;
}

/** Reads the input form of the workflow. */
export async function readInputForm(context: Context): Promise<InputForm> {
  const fields = await readFields(context);
  return {
    fields,
    async makeInputs({ input = [], inputs }, from) {
      try {
        const values = parseAssignments(input, fields, isObject(inputs) ? inputs : {});
        checkValues(fields, values);
        await requireFiles(values, context, from);
        return values;
      } catch (error) {
        // With the key of another type of application, that is the actual mistake.
        await requireKind("workflow", context);
        throw error;
      }
    },
  };
}

async function readFields(context: Context): Promise<readonly Field[]> {
  try {
    const { user_input_form } = await context.call(getAppParameters, {});
    return appFields(user_input_form ?? []);
  } catch (error) {
    if (error instanceof ApiError && error.kind !== "auth") await requireKind("workflow", context);
    throw error;
  }
}
