import { ApiError, CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { appFields, checkValues, parseAssignments, requireFiles } from "../forms/index.ts";
import type { Field } from "../forms/index.ts";
import type { Context } from "../../command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** Inputs from the command line or a row. */
export interface RawInputs {
  /** As `name=value`. */
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
}

export type MakeInputs = (raw: RawInputs) => Promise<Record<string, unknown>>;

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
    async makeInputs({ input = [], inputs }) {
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
    },
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

/** Throws `unsupported` if the key belongs to another type of application. */
export async function requireWorkflow(context: Context): Promise<void> {
  const { mode } = await context.call(getAppInfo, {});
  if (mode === undefined || mode === "workflow") return;
  throw new CliError(
    "unsupported",
    `the key belongs to an application of mode ${mode}, not a workflow`,
    {
      sideEffect: "none",
      hint: `send messages to chat applications: ${commandLine("wf chat send", ["hello"])}`,
    },
  );
}
