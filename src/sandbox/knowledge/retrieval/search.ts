import * as operations from "../../../operations/knowledge.ts";
import { bindHandlers, type Handlers } from "../../protocol/handler.ts";
import { getDataset, type KnowledgeContext } from "../records/knowledge-store.ts";
import { withModelErrors } from "../indexing/embedding.ts";
import { documentMetadata } from "../records/metadata-values.ts";
import { findChunks } from "./found-chunks.ts";
import { knowledgeError, toResponse } from "../records/responses.ts";
import { DEFAULT_SETTINGS, type SearchSettings } from "../records/search-settings.ts";

/** Search in a knowledge base. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  searchKnowledgeBase(context, input) {
    const dataset = getDataset(context, input.dataset_id);
    const { query, attachment_ids = [] } = input;
    if (query === "" && attachment_ids.length === 0) {
      throw knowledgeError("query missing");
    }
    // Validated with the request.
    const sent = input.retrieval_model as SearchSettings | undefined;
    const settings = sent ?? dataset.retrieval_model ?? DEFAULT_SETTINGS;
    const found = withModelErrors(() => findChunks(context, dataset, query, settings));
    const records = found.map(({ segment, document, score, children: child_chunks }) => {
      const metadata = documentMetadata(context, dataset, document);
      return toResponse("search_record", segment, {
        document_name: document.name,
        data_source_type: document.source?.datasource_type ?? "upload_file",
        doc_metadata: metadata.length === 0 ? null : metadata,
        keywords: segment.keywords ?? [],
        tokens: segment.tokens ?? 0,
        indexing_at: segment.indexing_at || null,
        score,
        child_chunks,
      });
    });
    return { json: { query: { content: query }, records } };
  },
};

export const searchHandlers = bindHandlers(operations, handlers);
