import { usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { listKnowledgeBases } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";

/** A knowledge base by its ID, with its name or the text that was entered for it. */
export interface RequestedKb {
  readonly id: string;
  readonly name: string;
}

/** The knowledge bases that a line names, or with --all those of the list. Throws usage for neither and both. */
export async function* requestedKbs(
  { command, args = [] }: { readonly command: string; readonly args?: readonly string[] },
  input: {
    readonly dataset_id?: readonly string[] | undefined;
    readonly all?: boolean | undefined;
  },
  context: Context,
): AsyncGenerator<RequestedKb> {
  const { dataset_id = [], all = false } = input;
  if (dataset_id.length > 0 === all)
    throw usage("name knowledge bases, or pass --all", commandLine(command, args, { all: true }));
  if (all) yield* context.api.rows(listKnowledgeBases, { include_all: true });
  else for (const id of new Set(dataset_id)) yield { id, name: context.enteredName(id) };
}
