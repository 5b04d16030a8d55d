import { own } from "../../../lib/json.ts";
import type { AllowedBase } from "./limits.ts";

/** The argument for a knowledge base: not required where there is only one. */
export function kbArgument(allowed: readonly AllowedBase[] | undefined) {
  const only = allowed?.length === 1 ? allowed[0] : undefined;
  const names = allowed && { enum: allowed.flatMap(({ name, id }) => [name, id]) };
  const description = only ? `Knowledge base (default ${only.name})` : "Knowledge base name or ID";
  return {
    properties: { kb: { type: "string", minLength: 1, description, ...names } },
    required: only ? [] : ["kb"],
    of: (values: Readonly<Record<string, unknown>>) =>
      String(own(values, "kb") ?? only?.name ?? ""),
  };
}
