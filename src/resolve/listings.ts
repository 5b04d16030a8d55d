import type { Values } from "../api/request.ts";
import { listAnnotations } from "../operations/annotations.ts";
import { listConversations, listConversationVariables, listMessages } from "../operations/chats.ts";
import { listChildChunks, listChunks } from "../operations/chunks.ts";
import { getDocument, listDocuments } from "../operations/documents.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../operations/knowledge.ts";
import { listMetadataFields } from "../operations/metadata.ts";
import type { AnyOperation, Effect, ListedNoun, Noun } from "../operations/operation.ts";
import { listTags } from "../operations/tags.ts";
import { listWorkflowLogs } from "../operations/workflows.ts";
import { nouns } from "./nouns.ts";
import type { NounWords } from "./nouns.ts";

/** How the objects that an argument can name are listed and looked up. */
export interface Listing extends NounWords {
  readonly row: AnyOperation;
  /** Reads one object by ID, if the API can, and its parameter for the ID. */
  readonly show?: readonly [row: AnyOperation, param: string];
  /** Does the list take a keyword? */
  readonly keyword?: true;
  /** Further values of the request for the list. */
  readonly fixed?: Values;
  /** Path of the text that says what an object is. */
  readonly about?: string;
  /** Path of the ID in a row (default: `id`). */
  readonly idAt?: string;
  /** The list is that of its newest object, if the line has no value for the first parameter in `within`. */
  readonly parent?: ListedNoun;
  /** Does a name select an object, too, beside an ID or its beginning? */
  readonly byName?: true;
}

/** An object of a list. */
export type Listed = Readonly<Record<string, unknown>>;

/** How each noun is listed. */
export const listings: Readonly<Record<Noun | ListedNoun, Listing>> = {
  kb: {
    ...nouns.kb,
    byName: true,
    row: listKnowledgeBases,
    show: [getKnowledgeBase, "dataset_id"],
    keyword: true,
    fixed: { include_all: true },
  },
  document: {
    ...nouns.document,
    byName: true,
    row: listDocuments,
    show: [getDocument, "document_id"],
    keyword: true,
  },
  tag: { ...nouns.tag, byName: true, row: listTags },
  field: { ...nouns.field, byName: true, row: listMetadataFields, about: "type" },
  chunk: { ...nouns.chunk, row: listChunks, about: "content" },
  child: { ...nouns.child, row: listChildChunks, about: "content" },
  run: { ...nouns.run, row: listWorkflowLogs, idAt: "workflow_run.id" },
  conversation: { ...nouns.conversation, row: listConversations, about: "name" },
  message: { ...nouns.message, row: listMessages, about: "query", parent: "conversation" },
  variable: { ...nouns.variable, row: listConversationVariables, about: "name" },
  annotation: { ...nouns.annotation, row: listAnnotations, about: "question" },
};

/** What resolving names needs: whole lists, and single objects. */
export interface Lookup {
  /** What the command does: one that reads finds a document by the last part of its path, too. */
  readonly effect: Effect;
  rows(row: AnyOperation, input: Values): AsyncIterable<unknown>;
  /** ID that the profile stores for the name of a knowledge base; sends nothing. */
  base(name: string): Promise<string | undefined>;
  one(row: AnyOperation, input: Values): Promise<unknown>;
  /** IDs of the runs on this server that were started or followed on this machine. */
  followedRuns(): Promise<readonly string[]>;
  /** Remembers the name that an ID was resolved from, for hints. */
  entered(id: string, name: string): void;
  trace(level: 1, text: string): Promise<void>;
  notice(text: string): Promise<void>;
}
