import type { Context } from "../../task/command-spec.ts";
import type { Source } from "./source.ts";

/** Opens a source: a directory. */
export async function openSource(address: string, context: Context): Promise<Source> {
  const { directorySource } = await import("./directory.ts");
  return directorySource(address, context);
}
