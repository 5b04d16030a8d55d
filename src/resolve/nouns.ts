import { commandLine } from "../lib/command-line.ts";
import type { ListedNoun, Noun } from "../operations/operation.ts";

/** What an argument names, and where its names and IDs are found. */
export interface NounWords {
  readonly title: string;
  /** The command that lists them. */
  readonly list: string;
  /** Parameters that select the list: documents belong to a knowledge base. */
  readonly within?: readonly string[];
  /** Where the newest one stands on the first page of the list, if `last` selects it. */
  readonly newest?: "first" | "last";
}

export const nouns: Readonly<Record<Noun | ListedNoun, NounWords>> = {
  kb: { title: "knowledge base", list: "kb list" },
  document: { title: "document", list: "kb doc list", within: ["dataset_id"] },
  tag: { title: "tag", list: "kb tag list" },
  field: { title: "metadata field", list: "kb metadata list", within: ["dataset_id"] },
  chunk: { title: "chunk", list: "kb chunk list", within: ["dataset_id", "document_id"] },
  child: {
    title: "child chunk",
    list: "kb chunk child list",
    within: ["dataset_id", "document_id", "segment_id"],
  },
  run: { title: "run", list: "wf logs", newest: "first" },
  conversation: { title: "conversation", list: "wf conversation list", newest: "first" },
  message: {
    title: "message",
    list: "wf conversation messages",
    within: ["conversation_id"],
    newest: "last",
  },
  variable: {
    title: "variable",
    list: "wf conversation variables",
    within: ["conversation_id"],
  },
  annotation: { title: "annotation", list: "wf annotation list" },
};

/** The command that lists the objects of a noun: `kb chunk list Handbook leave.md`. */
export const listCommand = (
  { list, within = [] }: NounWords,
  valueOf: (param: string) => unknown,
): string =>
  commandLine(
    list,
    within.map((param) => String(valueOf(param))),
  );
