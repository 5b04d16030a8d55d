import { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isUuid } from "../../../lib/text.ts";
import { createKnowledgeBase } from "../../../operations/knowledge.ts";
import { ask } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import { chooseTechnique } from "./create.ts";

type Values = Readonly<Record<string, unknown>>;

/**
 * Creates the knowledge base that a sync did not find, if the prompt on a terminal is confirmed; returns the
 * values with its ID. Throws the error otherwise, with the right order if the arguments are swapped.
 */
export async function createMissing(
  error: unknown,
  input: Values,
  context: Context,
): Promise<Values> {
  if (!(error instanceof CliError) || error.kind !== "not-found") throw error;
  const { host, options } = context;
  const [name, directory] = [String(input["dataset_id"]), String(input["directory"])];
  const isDirectory = async (path: string) => (await host.files.stat(path))?.isDirectory === true;
  const hasFiles = await isDirectory(directory);
  if (!hasFiles && (await isDirectory(name))) {
    const right = commandLine("kb sync", [directory, name]);
    throw error.with({ hint: `the knowledge base comes first: ${right}` });
  }
  const isName = !isUuid(name) && !/^(id|name):/.test(name);
  if (!hasFiles || !isName || !options.input || options.dryRun) throw error;
  const reply = await ask(`${error.message}. Create it? [y/N] `, context);
  if (!/^y(es)?$/i.test(reply)) throw error;
  const values = await chooseTechnique({ name }, context);
  const { id } = await context.api.call(createKnowledgeBase, { name, ...values });
  await context.notice(`created knowledge base ${name}`);
  return { ...input, dataset_id: id };
}
