import * as operations from "../../operations/models.ts";
import { own } from "../../lib/json.ts";
import { bindHandlers, type Handlers } from "../protocol/handler.ts";
import {
  catalogOf,
  isModelKind,
  type ModelEntry,
  type ModelKind,
  PROVIDER,
} from "../models/catalog.ts";
import { hasCredentials } from "../models/model-access.ts";
import { tenantId } from "../protocol/ids.ts";
import type { KnowledgeContext } from "./records/knowledge-store.ts";
import { knowledgeError, toResponse } from "./records/responses.ts";

/** Other names of kinds that the server accepts (server §7). */
const OTHER_NAMES: Readonly<Record<string, ModelKind>> = {
  embeddings: "text-embedding",
  "text-generation": "llm",
  reranking: "rerank",
};

/** Models by kind; an empty list if the server has none. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  listModels({ model, models }, _input, call) {
    const type = call.path["model_type"] ?? "";
    const kind = own(OTHER_NAMES, type) ?? type;
    if (!isModelKind(kind)) {
      const error = model ? "model type invalid" : "model type invalid without models";
      throw knowledgeError(error, { type });
    }
    if (!model || !hasCredentials(models)) return { json: { data: [] } };
    const entries = catalogOf(kind).filter((entry) => !models.disabled.has(entry.model));
    return { json: { data: [providerResponse(kind, entries, call.origin)] } };
  },
};

export const modelHandlers = bindHandlers(operations, handlers);

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
