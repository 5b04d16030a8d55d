import { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isUuid } from "../../../lib/text.ts";
import { createKnowledgeBase } from "../../../operations/knowledge.ts";
import { ask } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import { chooseTechnique } from "./create.ts";

type Values = Readonly<Record<string, unknown>>;

/** The error for a knowledge base that is not found, with the right order if the arguments are swapped. */
export async function withOrder(
  error: unknown,
  { dataset_id, directory }: Values,
  { host }: Context,
  command: string,
): Promise<CliError> {
  if (!(error instanceof CliError) || error.kind !== "not-found") throw error;
  const isDirectory = async (path: unknown) =>
    (await host.files.stat(String(path)))?.isDirectory === true;
  if ((await isDirectory(directory)) || !(await isDirectory(dataset_id))) return error;
  const right = commandLine(command, [String(directory), String(dataset_id)]);
  return error.with({ hint: `the knowledge base comes first: ${right}` });
}

/**
 * Creates the knowledge base that a sync did not find, if the prompt on a terminal is confirmed; returns the
 * values with its ID. Throws the error otherwise.
 */
export async function createMissing(
  thrown: unknown,
  input: Values,
  context: Context,
): Promise<Values> {
  const error = await withOrder(thrown, input, context, "kb sync");
  const { host, options } = context;
  const [name, directory] = [String(input["dataset_id"]), String(input["directory"])];
  const hasFiles = (await host.files.stat(directory))?.isDirectory === true;
  const isName = !isUuid(name) && !/^(id|name):/.test(name);
  if (!hasFiles || !isName || !options.input || options.dryRun) throw error;
  const reply = await ask(`${error.message}. Create it? [y/N] `, context);
  if (!/^y(es)?$/i.test(reply)) throw error;
  const values = await chooseTechnique({ name }, context);
  const { id } = await context.api.call(createKnowledgeBase, { name, ...values });
  await context.notice(`created knowledge base ${name}`);
  return { ...input, dataset_id: id };
}
