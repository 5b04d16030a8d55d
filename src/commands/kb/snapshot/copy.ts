import { join } from "node:path";
import { CliError } from "../../../errors.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { sha256 } from "./bundle.ts";
import { run as exported } from "./export.ts";
import { importBundle, noteOf, planImport } from "./import.ts";
import { stateOf } from "./state.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb copy`. */
export interface CopyInput {
  readonly dataset_id: string;
  readonly to_profile?: string | undefined;
  readonly name?: string | undefined;
  readonly map_model?: readonly string[] | undefined;
}

/** Throws refused where the name of the copy is taken, unless by a copy that was ended early. */
async function requireFree(
  { dataset_id, name }: CopyInput,
  target: Context,
  context: Context,
): Promise<void> {
  const wanted = name ?? (await context.call(getKnowledgeBase, { dataset_id })).name;
  const begun = await target.host.files.stat(await noteOf(wanted, dataset_id, target));
  if (begun !== null || !(await isTaken(wanted, target))) return;
  throw new CliError("refused", `knowledge base ${JSON.stringify(wanted)} already exists`, {
    code: "already-exists",
    sideEffect: "none",
    hint: `kb copy id:${dataset_id} --name ${quoted(`${[...wanted].slice(0, 35).join("")} copy`)}`,
  });
}

/** A word for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

async function isTaken(name: string, target: Context): Promise<boolean> {
  try {
    await target.resolveId("kb", `name:${name}`);
    return true;
  } catch (error) {
    if (error instanceof CliError && error.kind === "not-found") return false;
    if (error instanceof CliError && error.kind === "refused") return true; // several have it
    throw error;
  }
}

/**
 * Copies a knowledge base through a folder of our own: an export, then an import. The folder stays
 * when the copy fails, so that a repeated copy goes on where it stopped.
 */
export async function* run(input: CopyInput, context: Context): AsyncGenerator<unknown> {
  const { dataset_id, to_profile, name, map_model } = input;
  const target = to_profile === undefined ? context : context.withProfile(to_profile);
  await requireFree(input, target, context);
  if (context.options.dryRun) {
    yield* planImport({ name, map_model }, await stateOf(dataset_id, context), target);
    return;
  }
  const place = `${await context.baseUrl()}\n${dataset_id}`;
  const directory = join(context.host.directories.cache, "copies", sha256(place).slice(0, 32));
  const { files } = context.host;
  await files.makeDirectory(join(context.host.directories.cache, "copies"), 0o700);
  const quiet = { ...context, notice: () => Promise.resolve() };
  try {
    for await (const _ of exported({ dataset_id, directory }, quiet)) {
      // what is fetched is told by the import
    }
    yield* importBundle({ directory, name, map_model }, target);
  } catch (error) {
    if ((await files.stat(directory)) !== null)
      await context.notice(`what was fetched stays in ${directory}: the same copy goes on with it`);
    throw error;
  }
  await files.remove(directory);
  await context.notice(
    `copied; kb verify compares the two${to_profile ? ` (--to-profile ${to_profile})` : ""}`,
  );
}
