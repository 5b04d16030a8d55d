import { CliError } from "../../../errors.ts";
import type { Context } from "../../task/command-spec.ts";

/** The ID of the knowledge base of a name; undefined if there is none. Throws refused if several have it. */
export const findKb = (name: string, context: Context): Promise<string | undefined> =>
  context.resolveId("kb", `name:${name}`).catch((error: unknown) => {
    if (error instanceof CliError && error.kind === "not-found") return undefined;
    throw error;
  });
