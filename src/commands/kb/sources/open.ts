import { usage } from "../../../errors.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Source } from "./source.ts";

/** What a file of sources says of one, beside its address. */
export interface SourceOptions {
  /** Directory of the programs that it runs (default: that of this process). */
  readonly cwd?: string | undefined;
  /** Environment of the programs that it runs. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Opens a source: a directory, or `exec:PROGRAM ARGS`. Throws usage for an address that is none. */
export async function openSource(
  address: string,
  context: Context,
  options: SourceOptions = {},
): Promise<Source> {
  const [, scheme = "", rest = ""] = /^(exec|git\+\w+|rclone|web\+\w+):(.*)$/s.exec(address) ?? [];
  if (/^\w+:\/\/[^/]*:[^/]*@/.test(address.replace(/^\w+\+/, "")))
    throw usage(
      "the address of the source has a password",
      "a password in the command line is seen by others",
    );
  if (scheme === "exec") {
    const { programSource } = await import("./program-source.ts");
    const { wordsOf } = await import("./program.ts");
    return programSource({ words: wordsOf(rest), ...options }, address, context);
  }
  const { directorySource } = await import("./directory.ts");
  return directorySource(address, context);
}
