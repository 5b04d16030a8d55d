import type { Rule } from "./validation.ts";

/** How the server names what it checks, and where it checks other than the table says. */
export interface RequestModel {
  readonly body: string;
  /** Absent where the server does not check the choices of a query. */
  readonly query?: string;
  /** Rules in place of those of the row. */
  readonly fields?: Readonly<Record<string, Rule>>;
  /** The refusal is `{error}` alone. */
  readonly bare?: true;
  /** The end user is looked for before anything else (server §2). */
  readonly user?: true;
}

const text = { kind: "text" } as const;
const texts = { kind: "list", of: text } as const;
const required = true;

/** Only the mode is checked at once; wrong rules are told in other words (server §6). */
const process_rule = {
  kind: "object",
  fields: {
    mode: { kind: "text", required, choices: ["automatic", "custom", "hierarchical"] },
    rules: { kind: "object" },
  },
} as const satisfies Rule;

/** By id of the operation; the names stand in the texts of refusals (server §3). */
const models: Readonly<Record<string, RequestModel>> = {
  createDataset: { body: "DatasetCreatePayload" },
  updateDataset: { body: "DatasetUpdatePayload" },
  // An empty query is told in other words.
  retrieveSegments: {
    body: "HitTestingPayload",
    fields: { query: { kind: "text", required, length: [0, 250] } },
  },
  // A name that is too long is cut, not refused.
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
  // Names that are too long are told in other words (server §11).
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

/** The model of an operation; where nobody has seen its name, one in the manner of the others. */
export const requestModel = (operationId: string): RequestModel =>
  models[operationId] ?? {
    body: `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Payload`,
  };
