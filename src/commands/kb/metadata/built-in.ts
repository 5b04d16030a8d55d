import { CliError } from "../../../errors.ts";
import {
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
} from "../../../operations/metadata.ts";
import type { Context } from "../../task/command-spec.ts";

/**
 * Enables or disables the built-in metadata fields. The server reports success in any case (server §11),
 * so the list of fields is read afterwards. Throws failure.
 */
export async function setBuiltInFields(
  dataset_id: string,
  enabled: boolean,
  context: Context,
): Promise<{ built_in_field_enabled: boolean }> {
  const operation = enabled ? enableBuiltInFields : disableBuiltInFields;
  await context.api.call(operation, { dataset_id });
  const { built_in_field_enabled } = await context.api.call(getMetadataOverview, { dataset_id });
  if (built_in_field_enabled === enabled) return { built_in_field_enabled };
  const message = `failed to ${enabled ? "enable" : "disable"} the built-in fields`;
  const hint = "another metadata operation may have been running; try again";
  throw new CliError("failure", message, { sideEffect: "none", retryable: true, hint });
}

const toggle = (enabled: boolean) => ({
  async *run({ dataset_id }: { readonly dataset_id: string }, context: Context) {
    yield await setBuiltInFields(dataset_id, enabled, context);
  },
});

/** `kb metadata built-in enable` */
export const enable = toggle(true);
/** `kb metadata built-in disable` */
export const disable = toggle(false);
