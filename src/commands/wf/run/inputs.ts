import { ApiError, CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { applicationFields, assigned, checkValues } from "./form-fields.ts";
import type { Field } from "./form-fields.ts";
import { requireFiles } from "./upload-files.ts";
import type { Context } from "../../command-spec.ts";

/** Inputs as a line gives them. */
interface Given {
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
}

/**
 * Makes and checks inputs by the application's own form, before anything is sent or uploaded. Throws
 * usage for an unknown, missing or unfitting input, unsupported when the key opens no workflow.
 */
export async function inputMaker(
  context: Context,
): Promise<(given: Given) => Promise<Record<string, unknown>>> {
  const fields = await formOf(context);
  return async (given) => {
    try {
      const values = assigned(
        given.input ?? [],
        fields,
        isObject(given.inputs) ? given.inputs : {},
      );
      checkValues(fields, values);
      await requireFiles(values, context);
      return values;
    } catch (error) {
      // Another kind of application has another form, or none: then that is the mistake.
      await requireWorkflow(context);
      throw error;
    }
  };
}

async function formOf(context: Context): Promise<readonly Field[]> {
  try {
    const { user_input_form } = await context.call(getAppParameters, {});
    return applicationFields(user_input_form ?? []);
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
    `this key opens an application of mode ${mode}, not a workflow`,
    { sideEffect: "none", hint: "chat applications are used with `wf chat send`" },
  );
}
