import { rows, tasks } from "./task/command-spec.ts";
import type { ProgramFeatures } from "./task/command-rules.ts";
import { kbRules } from "./kb/rules/index.ts";
import type { activeModels } from "./models/index.ts";

const features: ProgramFeatures["features"] = [
  rows("list create show update delete", () => import("../operations/knowledge.ts")),
  rows("doc", () => import("../operations/documents.ts")),
  rows("chunk", () => import("../operations/chunks.ts")),
  rows("metadata", () => import("../operations/metadata.ts")),
  rows("tag", () => import("../operations/tags.ts")),
  rows("pipeline", () => import("../operations/pipeline.ts")),
  tasks("open search", () => import("./kb/knowledge/command.ts"), {
    kbOpen: async () => ({ run: (await import("./kb/knowledge/search.ts")).open }),
    kbSearch: () => import("./kb/knowledge/search-bases.ts"),
  }),
  tasks("doc cat", () => import("./kb/documents/command.ts"), {
    docList: () => import("./kb/documents/list.ts"),
    docWait: () => import("./kb/documents/indexing-status.ts"),
    docReplace: async () => ({ run: (await import("./kb/documents/contents.ts")).replace }),
    docRename: () => import("./kb/documents/rename.ts"),
    docEdit: async () => ({ run: (await import("./kb/documents/rename.ts")).edit }),
    docDownload: async () => ({ run: (await import("./kb/documents/contents.ts")).download }),
    docCat: async () => ({ run: (await import("./kb/documents/contents.ts")).cat }),
  }),
  tasks("chunk", () => import("./kb/chunks/command.ts"), {
    chunkPreview: () => import("./kb/chunks/preview.ts"),
    chunkExport: async () => ({ run: (await import("./kb/chunks/sheet.ts")).exportChunks }),
    chunkEdit: () => import("./kb/chunks/edit.ts"),
    chunkImport: () => import("./kb/chunks/import.ts"),
  }),
  tasks("metadata", () => import("./kb/metadata/command.ts"), {
    metadataSet: () => import("./kb/metadata/set.ts"),
    enableBuiltIn: async () => (await import("./kb/metadata/set.ts")).enable,
    disableBuiltIn: async () => (await import("./kb/metadata/set.ts")).disable,
  }),
  tasks("tag", () => import("./kb/tags/command.ts"), {
    tagUnbind: () => import("./kb/tags/unbind.ts"),
  }),
  tasks("pipeline", () => import("./kb/pipelines/command.ts"), {
    pipelineRun: () => import("./kb/pipelines/run.ts"),
    pipelineNode: async () => ({ run: (await import("./kb/pipelines/run.ts")).runNode }),
  }),
  tasks("model", () => import("./models/command.ts"), {
    modelList: () => import("./models/models.ts"),
  }),
  tasks("sync status", () => import("./kb/sync/command.ts"), {
    kbSync: () => import("./kb/sync/sync-rows.ts"),
    kbSyncRun: () => import("./kb/sync/run-sources.ts"),
    kbSyncHistory: async () => (await import("./kb/sync/run-sources.ts")).history,
    kbStatus: () => import("./kb/sync/status.ts"),
  }),
  tasks("source", () => import("./kb/sources/command.ts"), {
    sourceCheck: () => import("./kb/sources/check.ts"),
  }),
  tasks("eval", () => import("./measure/eval/command.ts"), {
    kbEval: () => import("./measure/eval/eval.ts"),
  }),
  tasks("questions", () => import("./measure/questions/command.ts"), {
    kbQuestions: () => import("./measure/questions/questions.ts"),
  }),
  tasks("tune", () => import("./measure/tune/command.ts"), {
    kbTune: () => import("./measure/tune/tune.ts"),
  }),
  tasks("lint", () => import("./kb/lint/command.ts"), {
    kbLint: () => import("./kb/lint/lint.ts"),
  }),
  tasks("check heal", () => import("./kb/check/command.ts"), {
    kbCheck: () => import("./kb/check/check.ts"),
    kbHeal: () => import("./kb/check/heal.ts"),
  }),
  tasks("export import copy verify", () => import("./kb/snapshot/command.ts"), {
    kbExport: () => import("./kb/snapshot/export.ts"),
    kbImport: () => import("./kb/snapshot/import.ts"),
    kbCopy: () => import("./kb/snapshot/copy.ts"),
    kbVerify: () => import("./kb/snapshot/verify.ts"),
  }),
  tasks("backup undo", () => import("./kb/backup/command.ts"), {
    kbBackup: () => import("./kb/backup/backup.ts"),
    backupList: async () => ({ run: (await import("./kb/backup/snapshots.ts")).listSnapshots }),
    backupDiff: async () => ({ run: (await import("./kb/backup/snapshots.ts")).diffSnapshots }),
    backupRestore: async () => ({ run: (await import("./kb/backup/restore.ts")).restoreSnapshot }),
    backupCat: async () => ({ run: (await import("./kb/backup/restore.ts")).catDocument }),
    backupDrill: async () => {
      const { drillWith } = await import("./kb/backup/drill.ts");
      return drillWith((await import("./measure/eval/index.ts")).parseQuestions);
    },
    backupPrune: async () => ({ run: (await import("./kb/backup/prune.ts")).pruneSnapshots }),
    kbUndo: () => import("./kb/backup/undo.ts"),
  }),
  tasks("pull plan apply", () => import("./kb/declarative/command.ts"), {
    kbPull: () => import("./kb/declarative/file.ts"),
    kbPlan: async () => ({ run: (await import("./kb/declarative/apply.ts")).plan }),
    kbApply: async () => ({ run: (await import("./kb/declarative/apply.ts")).apply }),
  }),
  tasks("mcp", () => import("./assistants/kb-command.ts"), {
    kbMcp: () => import("./assistants/kb-server.ts"),
    kbMcpConfig: () => import("./assistants/client-config.ts"),
  }),
];

/** What `kb` can do. */
export const kb: ProgramFeatures = {
  features,
  rules: kbRules,
  async probes() {
    const { knowledgeRows } = await import("../operations/index.ts");
    return {
      "knowledge bases": knowledgeRows.listKnowledgeBases,
      documents: knowledgeRows.listDocuments,
      chunks: knowledgeRows.listChunks,
      metadata: knowledgeRows.listMetadataFields,
      tags: knowledgeRows.listTags,
      models: knowledgeRows.listModels,
    };
  },
  documentsWhere: async (...given) =>
    (await import("./kb/documents/list.ts")).documentsWhere(...given),
  async *guard(...given) {
    const { withBackups } = await import("./kb/backup/around.ts");
    return yield* withBackups(...given);
  },
};

/** The active models of a type. */
export const modelsOfWorkspace: typeof activeModels = async (...given) =>
  (await import("./models/index.ts")).activeModels(...given);
