import type { Shape } from "../../operations/operation.ts";

/** The rule for a value: a shape of the operations table, with lengths of text and lists. */
export type Rule =
  | Exclude<Shape, { readonly kind: "text" | "list" | "object" }>
  | {
      readonly kind: "text";
      readonly required?: true;
      readonly choices?: readonly string[];
      readonly length?: readonly [number, number];
    }
  | {
      readonly kind: "list";
      readonly required?: true;
      readonly of: Rule;
      readonly length?: readonly [number, number];
      /** May be undefined, but not null. */
      readonly filled?: true;
    }
  | {
      readonly kind: "object";
      readonly required?: true;
      readonly fields?: Readonly<Record<string, Rule>>;
    };

/** The server's name for a request body, and where its checks differ from the operations table. */
export interface RequestModel {
  readonly body: string;
  /** Name of the query model; undefined if the server does not check the choices of the query. */
  readonly query?: string;
  /** Rules that override those of the row. */
  readonly fields?: Readonly<Record<string, Rule>>;
  /** The error response is `{error}` only. */
  readonly bare?: true;
  /** The end user is checked first (server §2). */
  readonly user?: true;
}

const text = { kind: "text" } as const;
const texts = { kind: "list", of: text } as const;
const required = true;

/** The model checks only the mode; invalid rules have other error texts (server §6). */
const process_rule = {
  kind: "object",
  fields: {
    mode: { kind: "text", required, choices: ["automatic", "custom", "hierarchical"] },
    rules: { kind: "object" },
  },
} as const satisfies Rule;

/** By operation ID; error texts contain the names (server §3). */
const models: Readonly<Record<string, RequestModel>> = {
  createDataset: { body: "DatasetCreatePayload" },
  updateDataset: { body: "DatasetUpdatePayload" },
  // An empty query has another error text.
  retrieveSegments: {
    body: "HitTestingPayload",
    fields: { query: { kind: "text", required, length: [0, 250] } },
  },
  // A name that is too long is truncated, not rejected.
  createDocumentFromText: {
    body: "DocumentTextCreatePayload",
    fields: { process_rule, name: { kind: "text", required } },
  },
  createDocumentFromFile: { body: "KnowledgeConfig", fields: { process_rule } },
  updateDocumentByText: { body: "DocumentTextUpdate", fields: { process_rule } },
  updateDocument: { body: "KnowledgeConfig", fields: { process_rule } },
  updateDocumentByFile: { body: "KnowledgeConfig", fields: { process_rule } },
  batchUpdateDocumentStatus: {
    body: "DocumentStatusPayload",
    fields: { document_ids: { ...texts, filled: true } },
  },
  downloadDocumentsZip: { body: "DocumentBatchDownloadZipPayload" },
  createSegments: {
    body: "SegmentCreatePayload",
    bare: true,
    fields: {
      segments: {
        kind: "list",
        required,
        length: [1, Infinity],
        of: {
          kind: "object",
          fields: {
            content: { kind: "text", required, length: [1, Infinity] },
            answer: text,
            keywords: texts,
            attachment_ids: texts,
          },
        },
      },
    },
  },
  updateSegment: {
    body: "SegmentUpdatePayload",
    fields: {
      segment: {
        kind: "object",
        required,
        fields: {
          content: text,
          answer: text,
          keywords: texts,
          enabled: { kind: "flag" },
          regenerate_child_chunks: { kind: "flag" },
          attachment_ids: texts,
          summary: text,
        },
      },
    },
  },
  createChildChunk: { body: "ChildChunkCreatePayload" },
  updateChildChunk: { body: "ChildChunkUpdatePayload" },
  // Names that are too long have another error text (server §11).
  createMetadataField: { body: "MetadataArgs", fields: { name: { kind: "text", required } } },
  updateMetadataField: {
    body: "MetadataUpdatePayload",
    fields: { name: { kind: "text", required } },
  },
  batchUpdateDocumentMetadata: { body: "MetadataOperationData" },
  createKnowledgeTag: { body: "TagCreatePayload" },
  updateKnowledgeTag: { body: "TagUpdatePayload" },
  deleteKnowledgeTag: { body: "TagDeletePayload" },
  bindTagsToDataset: { body: "TagBindingPayload" },
  unbindTagFromDataset: { body: "TagUnbindingPayload" },
  runDatasourceNode: { body: "DatasourceNodeRunPayload" },
  runPipeline: { body: "PipelineRunApiEntity" },
  executeWorkflow: { body: "WorkflowRunPayload", user: true },
  runWorkflowById: { body: "WorkflowRunPayload", user: true },
  stopWorkflowTaskGeneration: { body: "WorkflowStopPayload", user: true },
  streamWorkflowEvents: { body: "", user: true },
  getWorkflowLogs: { body: "", query: "WorkflowLogQuery" },
  submitChatflowHumanInputForm: { body: "HumanInputFormSubmitPayload", user: true },
  sendChatMessage: { body: "ChatRequestPayload", user: true },
  createCompletionMessage: { body: "CompletionRequestPayload", user: true },
  getConversationsList: { body: "", query: "ConversationListQuery" },
  renameConversation: { body: "ConversationRenamePayload" },
  updateChatConversationVariable: { body: "ConversationVariableUpdatePayload" },
  stopChatMessageGeneration: { body: "ChatStopPayload", user: true },
  stopGenerate: { body: "CompletionStopPayload", user: true },
  getSuggestedQuestions: { body: "", user: true },
  postChatMessageFeedback: { body: "MessageFeedbackPayload", user: true },
  textToAudioChat: { body: "TextToAudioPayload" },
  createAnnotation: { body: "AnnotationCreatePayload" },
  updateAnnotation: { body: "AnnotationCreatePayload" },
  initialAnnotationReplySettings: { body: "AnnotationReplyActionPayload" },
};

/** Returns the model of an operation; unknown names are formed like the recorded ones. */
export const requestModel = (operationId: string): RequestModel =>
  models[operationId] ?? {
    body: `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Payload`,
  };
