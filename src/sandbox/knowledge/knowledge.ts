import { type Call, type Handler, bindHandlers } from "../protocol/handler.ts";
import { HttpError } from "../protocol/response.ts";
import {
  createContext,
  getDataset,
  ABANDONED,
  WORD_TABLES,
  type DocumentRow,
} from "./records/knowledge-store.ts";
import type {
  KnowledgeContext,
  KnowledgeDependencies,
  KnowledgeHandlers,
} from "./records/knowledge-store.ts";
import { chunkHandlers } from "./chunks.ts";
import { datasetHandlers } from "./datasets.ts";
import { documentHandlers } from "./documents.ts";
import { advanceIndexing } from "./indexing/indexing.ts";
import { fileResponse, readUpload } from "./records/knowledge-files.ts";
import { metadataHandlers } from "./metadata.ts";
import { addPipelineBases } from "./pipelines/pipelines.ts";
import { pipelineHandlers } from "./pipeline.ts";
import { openRetrieve } from "./retrieval/retrieve.ts";
import { tagHandlers } from "./tags.ts";
import type * as operations from "../../operations/pipeline.ts";
import { knowledgeRows } from "../../operations/index.ts";
import { own, isObject, tryParseJson } from "../../lib/json.ts";
import { atLeast } from "../../lib/version.ts";
import { catalogOf, isModelKind, PROVIDER, hasCredentials } from "../models/catalog.ts";
import type { ModelEntry, ModelKind } from "../models/catalog.ts";
import { tenantId } from "../protocol/ids.ts";
import { knowledgeError, toResponse } from "./records/responses.ts";

const statuses: readonly unknown[] = [
  "waiting",
  "parsing",
  "cleaning",
  "splitting",
  "indexing",
  "paused",
  "error",
] satisfies DocumentRow["indexing_status"][];

const EXPECTED = `expected JSON such as {"document": "ID", "status": "indexing"}, with one of: ${statuses.join(", ")}`;

/**
 * Leaves a document in a status, with the chunks that it has, as a worker does that dies in the middle of a
 * rebuild (server §9.6): nothing continues it. Throws an Error with the reason if the JSON is invalid.
 */
function abandon({ documents }: KnowledgeContext, json: string): void {
  const given = tryParseJson(json);
  if (!isObject(given) || !statuses.includes(given["status"])) throw new Error(EXPECTED);
  const id = String(given["document"]);
  if (!documents.find({ id })) throw new Error(`there is no document ${id}`);
  const indexing_status = given["status"] as DocumentRow["indexing_status"];
  const error = indexing_status === "error" ? "The worker died." : undefined;
  documents.update({ id }, { indexing_status, error, queued_at: ABANDONED, completed_at: null });
}

/** What storage can lose, by the name that the JSON gives it. */
const losses: Readonly<Record<string, (context: KnowledgeContext, id: string) => void>> = {
  file({ documents, lostFiles }, id) {
    const { file_id } = documents.find({ id }) ?? missing("document", id);
    lostFiles.add(file_id);
  },
  chunks({ documents, segments }, id) {
    if (!documents.find({ id })) missing("document", id);
    segments.delete({ document_id: id });
  },
  keywords({ datasets, store }, id) {
    if (!datasets.find({ id })) missing("knowledge base", id);
    const rows = "SELECT rowid FROM segments WHERE dataset_id = ?";
    store.run(`DELETE FROM ${WORD_TABLES.segments} WHERE rowid IN (${rows})`, id);
  },
};

function missing(what: string, id: string): never {
  throw new Error(`there is no ${what} ${id}`);
}

/** Loses what the JSON names, without a trace in any list. Throws an Error with the reason if it is invalid. */
function lose(context: KnowledgeContext, json: string): void {
  const given = tryParseJson(json);
  const [[name, id] = ["", ""]] = Object.entries(isObject(given) ? given : {});
  const loss = own(losses, name);
  if (!loss) throw new Error(`expected one of: ${Object.keys(losses).join(", ")}, with an ID`);
  loss(context, String(id));
}

/** The kinds of damage; each throws an Error with the reason if its JSON is invalid. */
const damages = { abandon, lose };

/** The knowledge side of the sandbox. */
export type Knowledge = ReturnType<typeof openKnowledge>;

/** Opens the knowledge side. */
export function openKnowledge(dependencies: KnowledgeDependencies) {
  const context = createContext(dependencies);
  if (context.model) addPipelineBases(context);
  return {
    handlers: bindHandlers(knowledgeRows, handlers, context).map((handler) =>
      inTransaction(context, handler),
    ),
    /** Throws 404 if the knowledge base does not exist; the server checks that first. */
    checkDataset: (id: string) => void getDataset(context, id),
    damage: (kind: keyof typeof damages, json: string) =>
      context.store.transaction(() => {
        advanceIndexing(context);
        damages[kind](context, json);
      }),
    retrieve: openRetrieve(context),
    /** Returns the download of a file. */
    fileAt: (id: string) => fileResponse(context, id),
  };
}

/**
 * Runs a handler in a transaction. As on the server, changes made before an error response stay.
 * Files are read before, since a transaction cannot wait.
 */
const inTransaction = (context: KnowledgeContext, { row, handle }: Handler): Handler => ({
  row,
  async handle(input: never, call: Call) {
    const files = context.model ? await readUpload(call.files) : call.files;
    const result = context.store.transaction(() => {
      advanceIndexing(context);
      try {
        return handle(input, { ...call, files });
      } catch (error) {
        if (error instanceof HttpError) return error;
        throw error;
      }
    });
    if (result instanceof HttpError) throw result;
    return result;
  },
});

/** Other names of kinds that servers before 1.16 accept (server §7). */
const OTHER_NAMES: Readonly<Record<string, ModelKind>> = {
  embeddings: "text-embedding",
  "text-generation": "llm",
  reranking: "rerank",
};

/** Models by kind; an empty list if the server has none. */
const modelHandlers = {
  listModels({ model, models }, _input, call) {
    const type = call.path["model_type"] ?? "";
    const isNew = atLeast(call.version, "1.16.0");
    const kind = (isNew ? undefined : own(OTHER_NAMES, type)) ?? type;
    if (!isModelKind(kind)) {
      const error = model && !isNew ? "model type invalid" : "model kind invalid";
      throw knowledgeError(error, { type });
    }
    if (!model || !hasCredentials(models)) return { json: { data: [] } };
    const entries = catalogOf(kind).filter((entry) => !models.disabled.has(entry.model));
    return { json: { data: [providerResponse(kind, entries, call.origin)] } };
  },
} satisfies Partial<KnowledgeHandlers<typeof operations>>;

/** The only provider with credentials; others are not listed (server §17). */
function providerResponse(kind: ModelKind, entries: readonly ModelEntry[], origin: string) {
  const icon = (language: string) =>
    `${origin}/console/api/workspaces/${tenantId}/model-providers/${PROVIDER}/icon_small/${language}`;
  const provider = {
    tenant_id: tenantId,
    provider: PROVIDER,
    icon_zh_Hans: icon("zh_Hans"),
    icon_en_US: icon("en_US"),
    models: entries.map((entry) => toResponse("model", {}, { ...entry, kind })),
  };
  return toResponse("model_provider", {}, provider);
}

const handlers: KnowledgeHandlers<typeof knowledgeRows> = {
  ...datasetHandlers,
  ...documentHandlers,
  ...chunkHandlers,
  ...metadataHandlers,
  ...tagHandlers,
  ...pipelineHandlers,
  ...modelHandlers,
};
