import { CliError } from "../../errors.ts";
import {
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
} from "../../operations/metadata.ts";
import type { Context } from "../command-spec.ts";

/**
 * Enables or disables the built-in metadata fields. The server reports success in any case (server §11),
 * so the list of fields is read afterwards.
 */
async function* toggle(
  dataset_id: string,
  enabled: boolean,
  context: Context,
): AsyncGenerator<{ built_in_field_enabled: boolean }> {
  const operation = enabled ? enableBuiltInFields : disableBuiltInFields;
  await context.call(operation, { dataset_id });
  const { built_in_field_enabled } = await context.call(getMetadataOverview, { dataset_id });
  if (built_in_field_enabled !== enabled) {
    throw new CliError(
      "failure",
      `failed to ${enabled ? "enable" : "disable"} the built-in fields`,
      {
        sideEffect: "none",
        retryable: true,
        hint: "another metadata operation may have been running; try again",
      },
    );
  }
  yield { built_in_field_enabled };
}

/** `kb metadata built-in enable` */
export const enableBuiltIn = {
  run: ({ dataset_id }: { readonly dataset_id: string }, context: Context) =>
    toggle(dataset_id, true, context),
};

/** `kb metadata built-in disable` */
export const disableBuiltIn = {
  run: ({ dataset_id }: { readonly dataset_id: string }, context: Context) =>
    toggle(dataset_id, false, context),
};
