import * as operations from "../../../operations/knowledge.ts";
import { bindHandlers, type Handlers } from "../../http/handler.ts";
import { getDataset, type KnowledgeContext } from "../../storage/knowledge-store.ts";
import { withModelErrors } from "../indexing/embedding.ts";
import { parseMetadataFilter } from "./metadata-filter.ts";
import { documentMetadata } from "../metadata-values.ts";
import { rankSegments } from "./rank.ts";
import { knowledgeError, toResponse } from "../responses.ts";
import { DEFAULT_SETTINGS, type SearchSettings } from "./search-settings.ts";

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
    const filter = parseMetadataFilter(settings.metadata_filtering_conditions);
    const hits = withModelErrors(() => rankSegments(context, dataset, query, settings));

    const records: object[] = [];
    for (const { score, ...hit } of hits) {
      if (records.length >= settings.top_k) break;
      const segment = context.segments.find({ id: hit.id });
      const document = context.documents.find({ id: hit.document_id });
      if (!segment || !document) continue;
      const metadata = documentMetadata(context, dataset, document);
      const values = Object.fromEntries(metadata.map(({ name, value }) => [name, value]));
      if (filter && !filter(values)) continue;
      const record = toResponse("search_record", segment, {
        document_name: document.name,
        data_source_type: document.source?.datasource_type ?? "upload_file",
        doc_metadata: metadata.length === 0 ? null : metadata,
        keywords: segment.keywords ?? [],
        tokens: segment.tokens ?? 0,
        indexing_at: segment.indexing_at || null,
        score,
      });
      records.push(record);
    }
    return { json: { query: { content: query }, records } };
  },
};

export const searchHandlers = bindHandlers(operations, handlers);
