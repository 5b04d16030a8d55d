import { CliError } from "../../../errors.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import type { ResponseOf } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";

/** Yields the application with its input form; only a notice if the form cannot be read. */
export async function* run(
  _input: object,
  context: Context,
): AsyncGenerator<ResponseOf<typeof getAppInfo>> {
  const info = await context.api.call(getAppInfo, {});
  yield { ...info, ...(await inputForm(context)) };
}

async function inputForm(context: Context) {
  try {
    const { user_input_form } = await context.api.call(getAppParameters, {});
    return { user_input_form };
  } catch (error) {
    if (!(error instanceof CliError) || context.signal.aborted) throw error;
    await context.notice(`its inputs are unknown: ${error.message}`);
    return {};
  }
}
