import { rows, tasks } from "../task/command-spec.ts";
import type { Feature } from "../task/command-spec.ts";
import type { startRecord } from "./backup/index.ts";
import type { activeModels } from "./models/index.ts";

/** What `kb` can do. */
export const kbFeatures: readonly Feature[] = [
  rows("list create show update delete", () => import("../../operations/knowledge.ts")),
  rows("doc", () => import("../../operations/documents.ts")),
  rows("chunk", () => import("../../operations/chunks.ts")),
  rows("metadata", () => import("../../operations/metadata.ts")),
  rows("tag", () => import("../../operations/tags.ts")),
  rows("pipeline", () => import("../../operations/pipeline.ts")),
  tasks("open search", () => import("./knowledge/command.ts"), {
    kbOpen: async () => ({ run: (await import("./knowledge/search.ts")).open }),
    kbSearch: async () => ({ run: (await import("./knowledge/search.ts")).search }),
  }),
  tasks("doc cat", () => import("./documents/command.ts"), {
    docList: () => import("./documents/list.ts"),
    docWait: () => import("./documents/indexing-status.ts"),
    docReplace: async () => ({ run: (await import("./documents/contents.ts")).replace }),
    docRename: () => import("./documents/rename.ts"),
    docDownload: async () => ({ run: (await import("./documents/contents.ts")).download }),
    docCat: async () => ({ run: (await import("./documents/contents.ts")).cat }),
  }),
  tasks("chunk", () => import("./chunks/command.ts"), {
    chunkPreview: () => import("./chunks/preview.ts"),
    chunkExport: async () => ({ run: (await import("./chunks/sheet.ts")).exportChunks }),
    chunkImport: () => import("./chunks/import.ts"),
  }),
  tasks("metadata", () => import("./metadata/command.ts"), {
    metadataSet: () => import("./metadata/set.ts"),
    enableBuiltIn: async () => (await import("./metadata/set.ts")).enable,
    disableBuiltIn: async () => (await import("./metadata/set.ts")).disable,
  }),
  tasks("tag", () => import("./tags/command.ts"), {
    tagUnbind: () => import("./tags/unbind.ts"),
  }),
  tasks("pipeline", () => import("./pipelines/command.ts"), {
    pipelineRun: () => import("./pipelines/run.ts"),
    pipelineNode: async () => ({ run: (await import("./pipelines/run.ts")).runNode }),
  }),
  tasks("model", () => import("./models/command.ts"), {
    modelList: () => import("./models/models.ts"),
  }),
  tasks("sync status", () => import("./sync/command.ts"), {
    kbSync: () => import("./sync/sync.ts"),
    kbSyncRun: () => import("./sync/run-sources.ts"),
    kbSyncHistory: async () => (await import("./sync/run-sources.ts")).history,
    kbStatus: () => import("./sync/status.ts"),
  }),
  tasks("source", () => import("./sources/command.ts"), {
    sourceCheck: () => import("./sources/check.ts"),
  }),
  tasks("eval", () => import("./eval/command.ts"), {
    kbEval: () => import("./eval/eval.ts"),
  }),
  tasks("questions", () => import("./questions/command.ts"), {
    kbQuestions: () => import("./questions/questions.ts"),
  }),
  tasks("tune", () => import("./tune/command.ts"), {
    kbTune: () => import("./tune/tune.ts"),
  }),
  tasks("lint", () => import("./lint/command.ts"), {
    kbLint: () => import("./lint/lint.ts"),
  }),
  tasks("check heal", () => import("./check/command.ts"), {
    kbCheck: () => import("./check/check.ts"),
    kbHeal: () => import("./check/heal.ts"),
  }),
  tasks("export import copy verify", () => import("./snapshot/command.ts"), {
    kbExport: () => import("./snapshot/export.ts"),
    kbImport: () => import("./snapshot/import.ts"),
    kbCopy: () => import("./snapshot/copy.ts"),
    kbVerify: () => import("./snapshot/verify.ts"),
  }),
  tasks("backup undo", () => import("./backup/command.ts"), {
    kbBackup: () => import("./backup/backup.ts"),
    backupList: async () => ({ run: (await import("./backup/snapshots.ts")).listSnapshots }),
    backupDiff: async () => ({ run: (await import("./backup/snapshots.ts")).diffSnapshots }),
    backupRestore: async () => ({ run: (await import("./backup/snapshots.ts")).restoreSnapshot }),
    backupDrill: () => import("./backup/drill.ts"),
    backupPrune: async () => ({ run: (await import("./backup/prune.ts")).pruneSnapshots }),
    kbUndo: () => import("./backup/undo.ts"),
  }),
  tasks("pull plan apply", () => import("./declarative/command.ts"), {
    kbPull: () => import("./declarative/file.ts"),
    kbPlan: async () => ({ run: (await import("./declarative/apply.ts")).plan }),
    kbApply: async () => ({ run: (await import("./declarative/apply.ts")).apply }),
  }),
  tasks("mcp", () => import("./mcp/command.ts"), {
    kbMcp: () => import("./mcp/mcp.ts"),
    kbMcpConfig: () => import("../shared/mcp/client-config.ts"),
  }),
];

export { kbRules } from "./rules/index.ts";

/** The active models of a type. */
export const modelsOfWorkspace: typeof activeModels = async (...given) =>
  (await import("./models/index.ts")).activeModels(...given);

/** Backs up a knowledge base before a command and records it, for `kb undo`; returns what ends the record. */
export const recordKbChange: typeof startRecord = async (...given) =>
  (await import("./backup/index.ts")).startRecord(...given);
