// Written by `npm run reference` from the table of operations (src/operations).
import type { FileInput, JsonObject, List, RequestOptions, RunEvent } from "./index.d.ts";

/** The operations of the API by their operation id. */
export interface Operations {
  /** Convert speech to text (uses a paid model): `POST /audio-to-text`. */
  audioToText(
    input: {
      /** Audio file, - for stdin (mp3, m4a, wav, amr, mpga) */
      readonly file: FileInput;
      /** Media type (default: by file extension) */
      readonly content_type?: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Set metadata of documents {doc} in knowledge base {kb}: `POST /datasets/{dataset_id}/documents/metadata`. */
  batchUpdateDocumentMetadata(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Values by document */
      readonly operation_data: unknown;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Hide documents from search and protect them from changes: `PATCH /datasets/{dataset_id}/documents/status/{action}`. */
  batchUpdateDocumentStatus(
    input: {
      readonly action: "archive";
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_ids: readonly string[];
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Hide indexed documents from search: `PATCH /datasets/{dataset_id}/documents/status/{action}`. */
  batchUpdateDocumentStatus(
    input: {
      readonly action: "disable";
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_ids: readonly string[];
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Make disabled documents searchable again: `PATCH /datasets/{dataset_id}/documents/status/{action}`. */
  batchUpdateDocumentStatus(
    input: {
      readonly action: "enable";
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_ids: readonly string[];
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Restore archived documents: `PATCH /datasets/{dataset_id}/documents/status/{action}`. */
  batchUpdateDocumentStatus(
    input: {
      readonly action: "un_archive";
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_ids: readonly string[];
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Bind tags to a knowledge base: `POST /datasets/tags/binding`. */
  bindTagsToDataset(
    input: {
      /** Tag ID */
      readonly tag_ids: readonly string[];
      /** Knowledge base ID */
      readonly target_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Create an annotation: a fixed response to a question: `POST /apps/annotations`. */
  createAnnotation(
    input: {
      /** Question */
      readonly question: string;
      /** Answer */
      readonly answer: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Append a child chunk to a chunk: `POST /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks`. */
  createChildChunk(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Chunk ID */
      readonly segment_id: string;
      /** Content */
      readonly content: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Generate text: `POST /completion-messages`. */
  createCompletionMessage(
    input: {
      readonly response_mode: "blocking";
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Text to complete, unless the inputs contain it */
      readonly query?: string;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly answer: string; readonly message_id: string }>;
  /** Generate text: `POST /completion-messages`. */
  createCompletionMessage(
    input: {
      readonly response_mode: "streaming";
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Text to complete, unless the inputs contain it */
      readonly query?: string;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): AsyncGenerator<RunEvent>;
  /** Create an empty knowledge base: `POST /datasets`. */
  createDataset(
    input: {
      /** Name, unique in the workspace */
      readonly name: string;
      /** Description */
      readonly description?: string;
      /** Indexing technique */
      readonly indexing_technique?: "high_quality" | "economy";
      /** Who in the workspace can see it */
      readonly permission?: "only_me" | "all_team_members" | "partial_members";
      /** Where the content is stored */
      readonly provider?: "vendor" | "external";
      /** Embedding model, see `kb model list` */
      readonly embedding_model?: string;
      /** Provider of a model given without one */
      readonly embedding_model_provider?: string;
      /** Search settings */
      readonly retrieval_model?: unknown;
      /** ID of the external knowledge API */
      readonly external_knowledge_api_id?: string;
      /** ID of the knowledge in that API */
      readonly external_knowledge_id?: string;
      /** Summary index settings */
      readonly summary_index_setting?: unknown;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Add documents from files, or replace enabled ones with their names: `POST /datasets/{dataset_id}/document/create-by-file`. */
  createDocumentFromFile(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** File, - for stdin */
      readonly file: FileInput;
      /** Media type (default: by file extension) */
      readonly content_type?: string;
      /** Indexing technique */
      readonly indexing_technique?: "high_quality" | "economy";
      /** Chunk structure */
      readonly doc_form?: "text_model" | "hierarchical_model" | "qa_model";
      /** Language of the text */
      readonly doc_language?: string;
      /** Chunking rule */
      readonly process_rule?: unknown;
      /** Search settings */
      readonly retrieval_model?: unknown;
      /** Embedding model, if none is set yet */
      readonly embedding_model?: string;
      /** Provider of a model given without one */
      readonly embedding_model_provider?: string;
      /** Replace a document with the same name */
      readonly duplicate?: boolean;
      /** Name or ID of a document to update instead */
      readonly original_document_id?: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & { readonly document: JsonObject & { readonly id: string; readonly name: string } }
  >;
  /** Add a document from text, or replace the enabled one with that name: `POST /datasets/{dataset_id}/document/create-by-text`. */
  createDocumentFromText(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Name */
      readonly name: string;
      /** Content */
      readonly text: string;
      /** Indexing technique */
      readonly indexing_technique?: "high_quality" | "economy";
      /** Chunk structure */
      readonly doc_form?: "text_model" | "hierarchical_model" | "qa_model";
      /** Language of the text */
      readonly doc_language?: string;
      /** Chunking rule */
      readonly process_rule?: unknown;
      /** Search settings */
      readonly retrieval_model?: unknown;
      /** Embedding model, if none is set yet */
      readonly embedding_model?: string;
      /** Provider of a model given without one */
      readonly embedding_model_provider?: string;
      /** Name or ID of a document to update instead */
      readonly original_document_id?: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & { readonly document: JsonObject & { readonly id: string; readonly name: string } }
  >;
  /** Create a tag: `POST /datasets/tags`. */
  createKnowledgeTag(
    input: {
      /** Name, unique in the workspace */
      readonly name: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Create a metadata field: `POST /datasets/{dataset_id}/metadata`. */
  createMetadataField(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Data type */
      readonly type: "string" | "number" | "time";
      /** Name, unique in the knowledge base */
      readonly name: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Append chunks to an indexed document: `POST /datasets/{dataset_id}/documents/{document_id}/segments`. */
  createSegments(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Several chunks: [{content, answer, keywords}] */
      readonly segments?: unknown;
      /** Content of the chunk */
      readonly "segments.0.content"?: string;
      /** Answer, in question-and-answer documents */
      readonly "segments.0.answer"?: string;
      /** Keyword */
      readonly "segments.0.keywords"?: readonly string[];
      /** Uploaded file to attach */
      readonly "segments.0.attachment_ids"?: readonly string[];
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** Delete an annotation: `DELETE /apps/annotations/{annotation_id}`. */
  deleteAnnotation(
    input: {
      /** Annotation ID */
      readonly annotation_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Delete a child chunk: `DELETE /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}`. */
  deleteChildChunk(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Chunk ID */
      readonly segment_id: string;
      /** Child chunk ID */
      readonly child_chunk_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Delete a conversation and its messages: `DELETE /conversations/{conversation_id}`. */
  deleteConversation(
    input: {
      /** Conversation ID, or last */
      readonly conversation_id: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Delete a knowledge base and its documents, even if apps use it: `DELETE /datasets/{dataset_id}`. */
  deleteDataset(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Delete documents and their chunks: `DELETE /datasets/{dataset_id}/documents/{document_id}`. */
  deleteDocument(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Delete a tag and remove it from all knowledge bases: `DELETE /datasets/tags`. */
  deleteKnowledgeTag(
    input: {
      /** Tag ID */
      readonly tag_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Delete a metadata field and its values: `DELETE /datasets/{dataset_id}/metadata/{metadata_id}`. */
  deleteMetadataField(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Metadata field ID */
      readonly metadata_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Delete a chunk: `DELETE /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}`. */
  deleteSegment(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Chunk ID */
      readonly segment_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Show a signed download URL for the file of a document: `GET /datasets/{dataset_id}/documents/{document_id}/download`. */
  downloadDocument(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Download documents {doc} from knowledge base {kb}: `POST /datasets/{dataset_id}/documents/download-zip`. */
  downloadDocumentsZip(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_ids: readonly string[];
    },
    options?: RequestOptions,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Run workflow: `POST /workflows/run`. */
  executeWorkflow(
    input: {
      readonly response_mode: "blocking";
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & {
      readonly workflow_run_id: string;
      readonly data: JsonObject & { readonly status: string; readonly error?: string | null };
    }
  >;
  /** Run workflow: `POST /workflows/run`. */
  executeWorkflow(
    input: {
      readonly response_mode: "streaming";
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): AsyncGenerator<RunEvent>;
  /** List annotations: `GET /apps/annotations`. */
  getAnnotationList(
    input?: {
      /** Only annotations that contain this text */
      readonly keyword?: string;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** List models: `GET /workspaces/current/models/model-types/{model_type}`. */
  getAvailableModels(
    input: {
      /** Model type */
      readonly model_type:
        | "text-embedding"
        | "rerank"
        | "llm"
        | "tts"
        | "speech2text"
        | "moderation";
    },
    options?: RequestOptions,
  ): List<
    JsonObject & {
      readonly provider: string;
      readonly models: readonly (JsonObject & { readonly model: string })[];
    }
  >;
  /** List the metadata fields that the server can fill automatically: `GET /datasets/{dataset_id}/metadata/built-in`. */
  getBuiltInMetadataFields(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** List the feedback on messages: `GET /app/feedbacks`. */
  getChatAppFeedbacks(
    input?: {},
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** Get application info: `GET /info`. */
  getChatAppInfo(
    input?: {},
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly name?: string | null; readonly mode?: string | null }>;
  /** Show the icons of the application's tools: `GET /meta`. */
  getChatAppMeta(
    input?: {},
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Show the input form and features of the application: `GET /parameters`. */
  getChatAppParameters(
    input?: {},
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly user_input_form?: readonly JsonObject[] | null }>;
  /** Show the web app settings of the application: `GET /site`. */
  getChatWebAppSettings(
    input?: {},
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Get form: `GET /form/human_input/{form_token}`. */
  getChatflowHumanInputForm(
    input: {
      /** Form token from the event of the pause */
      readonly form_token: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & {
      readonly form_content: string;
      readonly inputs: readonly (JsonObject & {
        readonly type: string;
        readonly output_variable_name: string;
        readonly option_source?: (JsonObject & { readonly value: readonly string[] }) | null;
        readonly allowed_file_types?: readonly string[] | null;
        readonly allowed_file_extensions?: readonly string[] | null;
        readonly allowed_file_upload_methods?: readonly string[] | null;
        readonly number_limits?: number | null;
      })[];
      readonly user_actions: readonly (JsonObject & {
        readonly id: string;
        readonly title: string;
      })[];
      readonly resolved_default_values: JsonObject;
      readonly expiration_time?: number | null;
    }
  >;
  /** List the child chunks of a chunk in order: `GET /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks`. */
  getChildChunks(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Chunk ID */
      readonly segment_id: string;
      /** Only child chunks that contain this text */
      readonly keyword?: string;
    },
    options?: RequestOptions,
  ): List<
    JsonObject & {
      readonly id: string;
      readonly content: string;
      readonly type?: string | null;
      readonly position?: number | null;
    }
  >;
  /** List the messages of a conversation, newest page first: `GET /messages`. */
  getConversationHistory(
    input: {
      /** Conversation ID, or last */
      readonly conversation_id: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** List variables of conversation {conversation}: `GET /conversations/{conversation_id}/variables`. */
  getConversationVariables(
    input: {
      /** Conversation ID, or last */
      readonly conversation_id: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** List the conversations of the end user: `GET /conversations`. */
  getConversationsList(
    input?: {
      /** Sort field; - sorts newest first */
      readonly sort_by?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** Show a knowledge base: `GET /datasets/{dataset_id}`. */
  getDatasetDetail(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & {
      readonly id: string;
      readonly name: string;
      readonly description?: string | null;
      readonly permission?: string | null;
      readonly indexing_technique?: string | null;
      readonly doc_form?: string | null;
      readonly embedding_model?: string | null;
      readonly embedding_model_provider?: string | null;
      readonly document_count?: number | null;
      readonly retrieval_model_dict?:
        | (JsonObject & { readonly search_method: string; readonly top_k: number })
        | null;
      readonly tags?:
        | readonly (JsonObject & { readonly id: string; readonly name: string })[]
        | null;
    }
  >;
  /** Show a document: `GET /datasets/{dataset_id}/documents/{document_id}`. */
  getDocumentDetail(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Metadata to include */
      readonly metadata?: "all" | "only" | "without";
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & {
      readonly id: string;
      readonly name?: string | null;
      readonly indexing_status?: string | null;
      readonly display_status?: string | null;
      readonly error?: string | null;
      readonly enabled?: boolean | null;
      readonly archived?: boolean | null;
      readonly completed_at?: number | null;
      readonly created_from?: string | null;
      readonly doc_form?: string | null;
      readonly doc_language?: string | null;
      readonly segment_count?: number | null;
      readonly data_source_type?: string | null;
      readonly data_source_info?:
        | (JsonObject & {
            readonly upload_file?:
              | (JsonObject & {
                  readonly size: number;
                  readonly extension?: string | null;
                  readonly mime_type?: string | null;
                })
              | null;
          })
        | null;
      readonly document_process_rule?: (JsonObject & { readonly mode?: string | null }) | null;
      readonly doc_metadata?:
        | readonly (JsonObject & {
            readonly id: string;
            readonly name: string;
            readonly value?: string | number | boolean | null;
          })[]
        | null;
    }
  >;
  /** Show the indexing status of a batch of documents: `GET /datasets/{dataset_id}/documents/{batch}/indexing-status`. */
  getDocumentIndexingStatus(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Batch ID from the response of an upload or update */
      readonly batch: string;
    },
    options?: RequestOptions,
  ): List<
    JsonObject & {
      readonly id: string;
      readonly indexing_status: string;
      readonly error?: string | null;
      readonly completed_segments: number;
      readonly total_segments: number;
    }
  >;
  /** Show an end user of the application: `GET /end-users/{end_user_id}`. */
  getEndUserChat(
    input: {
      /** End user ID, not the name that requests send */
      readonly end_user_id: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Get annotation reply status: `GET /apps/annotation-reply/{action}/status/{job_id}`. */
  getInitialAnnotationReplySettingsStatus(
    input: {
      /** What the job does */
      readonly action: "enable" | "disable";
      /** Job ID from enable or disable */
      readonly job_id: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** List the tags of knowledge bases, newest first: `GET /datasets/tags`. */
  getKnowledgeTags(
    input?: {},
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string; readonly name: string }>;
  /** Show a chunk: `GET /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}`. */
  getSegmentDetail(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Chunk ID */
      readonly segment_id: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** List suggested questions after a message (uses a model): `GET /messages/{message_id}/suggested`. */
  getSuggestedQuestions(
    input: {
      /** Message ID, or last */
      readonly message_id: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): List<string>;
  /** List runs: `GET /workflows/logs`. */
  getWorkflowLogs(
    input?: {
      /** Only runs with this text (30 characters) or run ID */
      readonly keyword?: string;
      /** Only runs with this status */
      readonly status?: "succeeded" | "failed" | "stopped";
      /** Only runs since this time */
      readonly created_at__after?: string;
      /** Only runs until this time */
      readonly created_at__before?: string;
      /** Only runs of this end user */
      readonly created_by_end_user_session_id?: string;
      /** Only runs of the account with this email */
      readonly created_by_account?: string;
    },
    options?: RequestOptions,
  ): List<
    JsonObject & {
      readonly id: string;
      readonly created_at: number;
      readonly workflow_run?:
        | (JsonObject & {
            readonly id: string;
            readonly status?: string | null;
            readonly error?: string | null;
            readonly version?: string | null;
            readonly elapsed_time?: number | null;
            readonly total_tokens?: number | null;
            readonly total_steps?: number | null;
            readonly created_at?: number | null;
            readonly finished_at?: number | null;
            readonly exceptions_count?: number | null;
          })
        | null;
      readonly created_by_account?: (JsonObject & { readonly email: string }) | null;
      readonly created_by_end_user?: (JsonObject & { readonly session_id: string }) | null;
    }
  >;
  /** Get run {run}: `GET /workflows/run/{workflow_run_id}`. */
  getWorkflowRunDetail(
    input: {
      /** Run ID */
      readonly workflow_run_id: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & {
      readonly status: string;
      readonly error?: string | null;
      readonly inputs?: string | null;
    }
  >;
  /** Disable annotation replies: `POST /apps/annotation-reply/{action}`. */
  initialAnnotationReplySettings(
    input: {
      readonly action: "disable";
      /** Provider of the embedding model */
      readonly embedding_provider_name: string;
      /** Embedding model that compares the questions */
      readonly embedding_model_name: string;
      /** Minimum similarity of questions, up to 1 */
      readonly score_threshold: number;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Enable annotation replies: `POST /apps/annotation-reply/{action}`. */
  initialAnnotationReplySettings(
    input: {
      readonly action: "enable";
      /** Provider of the embedding model */
      readonly embedding_provider_name: string;
      /** Embedding model that compares the questions */
      readonly embedding_model_name: string;
      /** Minimum similarity of questions, up to 1 */
      readonly score_threshold: number;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** List knowledge bases, newest first: `GET /datasets`. */
  listDatasets(
    input?: {
      /** Only names that contain this text */
      readonly keyword?: string;
      /** Include those that the workspace owner cannot see (default true) */
      readonly include_all?: boolean;
      /** Only with this tag; several match any (all since 1.15) */
      readonly tag_ids?: readonly string[];
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** List the data sources of a knowledge base's pipeline: `GET /datasets/{dataset_id}/pipeline/datasource-plugins`. */
  listDatasourcePlugins(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Use the published version instead of the draft */
      readonly is_published?: boolean;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** List documents in knowledge base {kb}: `GET /datasets/{dataset_id}/documents`. */
  listDocuments(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Only names that contain this text; % and _ are wildcards */
      readonly keyword?: string;
      /** Only documents with this display status */
      readonly status?:
        | "queuing"
        | "indexing"
        | "paused"
        | "error"
        | "available"
        | "disabled"
        | "archived";
    },
    options?: RequestOptions,
  ): List<
    JsonObject & {
      readonly id: string;
      readonly name: string;
      readonly position?: number | null;
      readonly created_at?: number | null;
      readonly indexing_status?: string | null;
      readonly display_status?: string | null;
      readonly error?: string | null;
      readonly enabled?: boolean | null;
      readonly archived?: boolean | null;
      readonly doc_form?: string | null;
      readonly dataset_process_rule_id?: string | null;
      readonly data_source_info?: (JsonObject & { readonly upload_file_id?: string | null }) | null;
      readonly data_source_detail_dict?:
        | (JsonObject & {
            readonly upload_file?:
              | (JsonObject & { readonly extension: string; readonly size: number })
              | null;
          })
        | null;
      readonly word_count?: number | null;
      readonly doc_metadata?:
        | readonly (JsonObject & {
            readonly id: string;
            readonly name: string;
            readonly value?: string | number | boolean | null;
          })[]
        | null;
    }
  >;
  /** List the metadata fields of a knowledge base: `GET /datasets/{dataset_id}/metadata`. */
  listMetadataFields(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string; readonly name: string; readonly type: string }>;
  /** List the chunks of a document in order: `GET /datasets/{dataset_id}/documents/{document_id}/segments`. */
  listSegments(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Only chunks with this status */
      readonly status?: readonly (
        | "waiting"
        | "indexing"
        | "completed"
        | "error"
        | "paused"
        | "re_segment"
      )[];
      /** Only chunks that contain this text */
      readonly keyword?: string;
    },
    options?: RequestOptions,
  ): List<
    JsonObject & {
      readonly id: string;
      readonly position: number;
      readonly content: string;
      readonly answer?: string | null;
      readonly keywords?: readonly string[] | null;
      readonly enabled: boolean;
      readonly status?: string | null;
      readonly updated_by?: string | null;
      readonly created_at?: number | null;
      readonly disabled_at?: number | null;
      readonly indexing_at?: number | null;
      readonly completed_at?: number | null;
      readonly summary?: string | null;
      readonly error?: string | null;
      readonly child_chunks: readonly (JsonObject & {
        readonly id: string;
        readonly content: string;
        readonly type?: string | null;
        readonly position?: number | null;
      })[];
    }
  >;
  /** Rate a message, or withdraw the rating: `POST /messages/{message_id}/feedbacks`. */
  postChatMessageFeedback(
    input: {
      /** Message ID, or last */
      readonly message_id: string;
      /** Rating */
      readonly rating?: "like" | "dislike";
      /** Withdraw the rating */
      readonly withdraw?: boolean;
      /** Why */
      readonly content?: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Download an uploaded file that a message has used: `GET /files/{file_id}/preview`. */
  previewChatFile(
    input: {
      /** File ID from the upload */
      readonly file_id: string;
      /** Request a download with the file's name */
      readonly as_attachment?: boolean;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** List the tags bound to a knowledge base: `GET /datasets/{dataset_id}/tags`. */
  queryDatasetTags(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
    },
    options?: RequestOptions,
  ): List<JsonObject & { readonly id: string }>;
  /** Rename a conversation, or let a model name it: `POST /conversations/{conversation_id}/name`. */
  renameConversation(
    input: {
      /** Conversation ID, or last */
      readonly conversation_id: string;
      /** New name; required without --auto-generate */
      readonly name?: string;
      /** Let a model choose the name */
      readonly auto_generate?: boolean;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Search knowledge base {kb}: `POST /datasets/{dataset_id}/retrieve`. */
  retrieveSegments(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Search query */
      readonly query: string;
      /** Search settings */
      readonly retrieval_model?: unknown;
      /** Uploaded file to search with */
      readonly attachment_ids?: readonly string[];
      /** Search settings of external knowledge */
      readonly external_retrieval_model?: unknown;
    },
    options?: RequestOptions,
  ): List<
    JsonObject & {
      readonly score: number;
      readonly segment: JsonObject & {
        readonly content: string;
        readonly answer?: string | null;
        readonly document?: (JsonObject & { readonly id: string; readonly name: string }) | null;
      };
      readonly child_chunks: readonly (JsonObject & { readonly content: string })[];
    }
  >;
  /** Run data source {node}: `POST /datasets/{dataset_id}/pipeline/datasource/nodes/{node_id}/run`. */
  runDatasourceNode(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Node ID from `kb pipeline plugins` */
      readonly node_id: string;
      /** Values of the pipeline's input variables */
      readonly inputs: unknown;
      /** Type of data source */
      readonly datasource_type: "local_file" | "online_document" | "website_crawl" | "online_drive";
      /** Credential ID from `kb pipeline plugins` */
      readonly credential_id?: string;
      /** Use the published version instead of the draft */
      readonly is_published: boolean;
    },
    options?: RequestOptions,
  ): AsyncGenerator<RunEvent>;
  /** Run pipeline of knowledge base {kb}: `POST /datasets/{dataset_id}/pipeline/run`. */
  runPipeline(
    input: {
      readonly response_mode: "blocking";
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Values of the pipeline's input variables */
      readonly inputs: unknown;
      /** Type of data source */
      readonly datasource_type: "local_file" | "online_document" | "website_crawl" | "online_drive";
      /** List of what to read; fields depend on the type */
      readonly datasource_info_list: unknown;
      /** Start node ID from `kb pipeline plugins` */
      readonly start_node_id: string;
      /** Use the published version instead of the draft */
      readonly is_published: boolean;
    },
    options?: RequestOptions,
  ): Promise<JsonObject>;
  /** Run pipeline of knowledge base {kb}: `POST /datasets/{dataset_id}/pipeline/run`. */
  runPipeline(
    input: {
      readonly response_mode: "streaming";
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Values of the pipeline's input variables */
      readonly inputs: unknown;
      /** Type of data source */
      readonly datasource_type: "local_file" | "online_document" | "website_crawl" | "online_drive";
      /** List of what to read; fields depend on the type */
      readonly datasource_info_list: unknown;
      /** Start node ID from `kb pipeline plugins` */
      readonly start_node_id: string;
      /** Use the published version instead of the draft */
      readonly is_published: boolean;
    },
    options?: RequestOptions,
  ): AsyncGenerator<RunEvent>;
  /** Run workflow: `POST /workflows/{workflow_id}/run`. */
  runWorkflowById(
    input: {
      readonly response_mode: "blocking";
      /** Published version of the workflow */
      readonly workflow_id: string;
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & {
      readonly workflow_run_id: string;
      readonly data: JsonObject & { readonly status: string; readonly error?: string | null };
    }
  >;
  /** Run workflow: `POST /workflows/{workflow_id}/run`. */
  runWorkflowById(
    input: {
      readonly response_mode: "streaming";
      /** Published version of the workflow */
      readonly workflow_id: string;
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): AsyncGenerator<RunEvent>;
  /** Send message: `POST /chat-messages`. */
  sendChatMessage(
    input: {
      readonly response_mode: "blocking";
      /** Message to send */
      readonly query: string;
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Conversation to continue, or last (default: a new one) */
      readonly conversation_id?: string;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** Name a new conversation automatically */
      readonly auto_generate_name?: boolean;
      /** Published version of the workflow (default: newest) */
      readonly workflow_id?: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & {
      readonly event: string;
      readonly message_id: string;
      readonly conversation_id: string;
      readonly workflow_run_id?: string | null;
    }
  >;
  /** Send message: `POST /chat-messages`. */
  sendChatMessage(
    input: {
      readonly response_mode: "streaming";
      /** Message to send */
      readonly query: string;
      /** Values of the application's inputs by name */
      readonly inputs: unknown;
      /** Conversation to continue, or last (default: a new one) */
      readonly conversation_id?: string;
      /** Input files: [{type, transfer_method, upload_file_id}] */
      readonly files?: unknown;
      /** Name a new conversation automatically */
      readonly auto_generate_name?: boolean;
      /** Published version of the workflow (default: newest) */
      readonly workflow_id?: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): AsyncGenerator<RunEvent>;
  /** Stop a chat response; reports success in any case: `POST /chat-messages/{task_id}/stop`. */
  stopChatMessageGeneration(
    input: {
      /** Task ID from the response's events, or its run ID */
      readonly task_id: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Stop generating text; reports success in any case: `POST /completion-messages/{task_id}/stop`. */
  stopGenerate(
    input: {
      /** Task ID, from the events of `wf text create` */
      readonly task_id: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Stop task {task}: `POST /workflows/tasks/{task_id}/stop`. */
  stopWorkflowTaskGeneration(
    input: {
      /** Task ID from the run's events */
      readonly task_id: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Get events of runs {run}: `GET /workflow/{workflow_run_id}/events`. */
  streamWorkflowEvents(
    input: {
      /** Run ID */
      readonly workflow_run_id: string;
      /** Start with the events so far */
      readonly include_state_snapshot?: boolean;
      /** Stay connected while the run is paused */
      readonly continue_on_pause?: boolean;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): AsyncGenerator<RunEvent>;
  /** Submit form: `POST /form/human_input/{form_token}`. */
  submitChatflowHumanInputForm(
    input: {
      /** Form token from the event of the pause */
      readonly form_token: string;
      /** Values of the form's inputs by name */
      readonly inputs: unknown;
      /** ID of the form's action to take */
      readonly action: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject>;
  /** Convert text to speech (uses a paid model): `POST /text-to-audio`. */
  textToAudioChat(
    input?: {
      /** Message to speak instead of --text, or last */
      readonly message_id?: string;
      /** Text to speak */
      readonly text?: string;
      /** Voice (default: the one of the application) */
      readonly voice?: string;
      /** Stream the audio while it is generated */
      readonly streaming?: boolean;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Disable built-in metadata fields of knowledge base {kb}: `POST /datasets/{dataset_id}/metadata/built-in/{action}`. */
  toggleBuiltInMetadataField(
    input: {
      readonly action: "disable";
      /** Knowledge base ID */
      readonly dataset_id: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Enable built-in metadata fields of knowledge base {kb}: `POST /datasets/{dataset_id}/metadata/built-in/{action}`. */
  toggleBuiltInMetadataField(
    input: {
      readonly action: "enable";
      /** Knowledge base ID */
      readonly dataset_id: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly result: "success" }>;
  /** Unbind tags {tag} from knowledge base {kb}: `POST /datasets/tags/unbinding`. */
  unbindTagFromDataset(
    input: {
      /** Tag ID */
      readonly tag_ids?: readonly string[];
      /** Tag ID */
      readonly tag_id?: string;
      /** Knowledge base ID */
      readonly target_id: string;
    },
    options?: RequestOptions,
  ): Promise<void>;
  /** Replace the question and answer of an annotation: `PUT /apps/annotations/{annotation_id}`. */
  updateAnnotation(
    input: {
      /** Annotation ID */
      readonly annotation_id: string;
      /** Question */
      readonly question: string;
      /** Answer */
      readonly answer: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Set a variable of a conversation: `PUT /conversations/{conversation_id}/variables/{variable_id}`. */
  updateChatConversationVariable(
    input: {
      /** Conversation ID, or last */
      readonly conversation_id: string;
      /** Variable ID from `wf conversation variables` */
      readonly variable_id: string;
      /** New value, of the variable's type */
      readonly value: unknown;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Update the content of a child chunk: `PATCH /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}`. */
  updateChildChunk(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Chunk ID */
      readonly segment_id: string;
      /** Child chunk ID */
      readonly child_chunk_id: string;
      /** New content */
      readonly content: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Update a knowledge base and wait for any reindexing: `PATCH /datasets/{dataset_id}`. */
  updateDataset(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** New name, unique in the workspace */
      readonly name?: string;
      /** Description */
      readonly description?: string;
      /** Indexing technique */
      readonly indexing_technique?: "high_quality" | "economy";
      /** Who in the workspace can see it */
      readonly permission?: "only_me" | "all_team_members" | "partial_members";
      /** Embedding model, see `kb model list` */
      readonly embedding_model?: string;
      /** Provider of a model given without one */
      readonly embedding_model_provider?: string;
      /** Search settings */
      readonly retrieval_model?: unknown;
      /** Members who can see it: [{user_id}] */
      readonly partial_member_list?: unknown;
      /** Search settings of external knowledge */
      readonly external_retrieval_model?: unknown;
      /** ID of the knowledge in that API */
      readonly external_knowledge_id?: string;
      /** ID of the external knowledge API */
      readonly external_knowledge_api_id?: string;
      /** Write documents again if searches fail */
      readonly rewrite?: boolean;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Replace document {kb}/{doc}: `PATCH /datasets/{dataset_id}/documents/{document_id}`. */
  updateDocument(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** New file, - for stdin */
      readonly file?: FileInput;
      /** Media type (default: by file extension) */
      readonly content_type?: string;
      /** Chunking rule */
      readonly process_rule?: unknown;
      /** Chunk structure */
      readonly doc_form?: "text_model" | "hierarchical_model" | "qa_model";
      /** Language of the text */
      readonly doc_language?: string;
      /** Search settings */
      readonly retrieval_model?: unknown;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & { readonly document: JsonObject & { readonly id: string; readonly name: string } }
  >;
  /** Replace document {kb}/{doc}: `POST /datasets/{dataset_id}/documents/{document_id}/update-by-file`. */
  updateDocumentByFile(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** New file, - for stdin */
      readonly file?: FileInput;
      /** Media type (default: by file extension) */
      readonly content_type?: string;
      /** Chunking rule */
      readonly process_rule?: unknown;
      /** Chunk structure */
      readonly doc_form?: "text_model" | "hierarchical_model" | "qa_model";
      /** Language of the text */
      readonly doc_language?: string;
      /** Search settings */
      readonly retrieval_model?: unknown;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & { readonly document: JsonObject & { readonly id: string; readonly name: string } }
  >;
  /** Update the text or chunking of a document and reindex it: `POST /datasets/{dataset_id}/documents/{document_id}/update-by-text`. */
  updateDocumentByText(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** New name, with new content */
      readonly name?: string;
      /** New content */
      readonly text?: string;
      /** Chunking rule */
      readonly process_rule?: unknown;
      /** Chunk structure */
      readonly doc_form?: "text_model" | "hierarchical_model" | "qa_model";
      /** Language of the text */
      readonly doc_language?: string;
      /** Search settings */
      readonly retrieval_model?: unknown;
    },
    options?: RequestOptions,
  ): Promise<
    JsonObject & { readonly document: JsonObject & { readonly id: string; readonly name: string } }
  >;
  /** Rename a tag: `PATCH /datasets/tags`. */
  updateKnowledgeTag(
    input: {
      /** Tag ID */
      readonly tag_id: string;
      /** New name, unique in the workspace */
      readonly name: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Rename a metadata field: `PATCH /datasets/{dataset_id}/metadata/{metadata_id}`. */
  updateMetadataField(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Metadata field ID */
      readonly metadata_id: string;
      /** New name, unique in the knowledge base */
      readonly name: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Update a chunk and reindex it: `POST /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}`. */
  updateSegment(
    input: {
      /** Knowledge base ID */
      readonly dataset_id: string;
      /** Document ID */
      readonly document_id: string;
      /** Chunk ID */
      readonly segment_id: string;
      /** New content */
      readonly "segment.content"?: string;
      /** New answer, in question-and-answer documents */
      readonly "segment.answer"?: string;
      /** Keyword; replaces the existing ones */
      readonly "segment.keywords"?: readonly string[];
      /** Include it in searches */
      readonly "segment.enabled"?: boolean;
      /** Split its child chunks again */
      readonly "segment.regenerate_child_chunks"?: boolean;
      /** Uploaded file to attach */
      readonly "segment.attachment_ids"?: readonly string[];
      /** New summary */
      readonly "segment.summary"?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Upload a file for runs and messages: `POST /files/upload`. */
  uploadChatFile(
    input: {
      /** File, - for stdin */
      readonly file: FileInput;
      /** Media type (default: by file extension) */
      readonly content_type?: string;
      /** End user of the request */
      readonly user?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
  /** Upload a file for pipeline runs: `POST /datasets/pipeline/file-upload`. */
  uploadPipelineFile(
    input: {
      /** File, - for stdin */
      readonly file: FileInput;
      /** Media type (default: by file extension) */
      readonly content_type?: string;
    },
    options?: RequestOptions,
  ): Promise<JsonObject & { readonly id: string }>;
}
