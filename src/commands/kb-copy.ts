import { join } from "node:path";
import { sha256 } from "./kb-bundle.ts";
import { run as exported } from "./kb-export.ts";
import { run as imported } from "./kb-import.ts";
import type { Context } from "./task.ts";

/** Input of `kb copy`. */
export interface CopyInput {
  readonly dataset_id: string;
  readonly to_profile?: string | undefined;
  readonly name?: string | undefined;
  readonly map_model?: readonly string[] | undefined;
}

/**
 * Copies a knowledge base through a folder of our own: an export, then an import. The folder stays
 * when the copy fails, so that a repeated copy goes on where it stopped.
 */
export async function* run(input: CopyInput, context: Context): AsyncGenerator<unknown> {
  const quiet = { notice: () => Promise.resolve() };
  const target = input.to_profile === undefined ? context : context.at(input.to_profile);
  const place = `${await context.baseUrl()}\n${input.dataset_id}`;
  const directory = join(context.host.folders.cache, "copies", sha256(place).slice(0, 32));
  const { files } = context.host;
  await files.makeFolder(join(context.host.folders.cache, "copies"), 0o700);
  const source = { dataset_id: input.dataset_id, directory };
  for await (const _ of exported(source, { ...context, ...quiet })) {
    // what is fetched is told by the import
  }
  const { name, map_model } = input;
  yield* imported({ directory, name, map_model }, { ...target, ...quiet });
  await files.remove(directory);
  await context.notice(
    `copied; kb verify compares the two${input.to_profile ? ` (--to-profile ${input.to_profile})` : ""}`,
  );
}
