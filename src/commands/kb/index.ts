import { rows, tasks } from "../task/command-spec.ts";
import type { Feature } from "../task/command-spec.ts";
import type { startRecord } from "./undo/index.ts";

/** What `kb` can do. */
export const kbFeatures: readonly Feature[] = [
  rows("list create show update delete", () => import("../../operations/knowledge.ts")),
  rows("doc", () => import("../../operations/documents.ts")),
  rows("chunk", () => import("../../operations/chunks.ts")),
  rows("metadata", () => import("../../operations/metadata.ts")),
  rows("tag", () => import("../../operations/tags.ts")),
  rows("pipeline", () => import("../../operations/pipeline.ts")),
  tasks("open search", () => import("./knowledge/command.ts"), {
    kbOpen: () => import("./knowledge/open.ts"),
    kbSearch: () => import("./knowledge/search.ts"),
  }),
  tasks("doc cat", () => import("./documents/command.ts"), {
    docList: () => import("./documents/list.ts"),
    docWait: () => import("./documents/wait.ts"),
    docReplace: () => import("./documents/replace.ts"),
    docRename: () => import("./documents/rename.ts"),
    docDownload: () => import("./documents/download.ts"),
    docCat: () => import("./documents/cat.ts"),
  }),
  tasks("chunk", () => import("./chunks/command.ts"), {
    chunkPreview: () => import("./chunks/preview.ts"),
    chunkExport: () => import("./chunks/export.ts"),
    chunkImport: () => import("./chunks/import.ts"),
  }),
  tasks("metadata", () => import("./metadata/command.ts"), {
    metadataSet: () => import("./metadata/set.ts"),
    enableBuiltIn: async () => (await import("./metadata/built-in.ts")).enable,
    disableBuiltIn: async () => (await import("./metadata/built-in.ts")).disable,
  }),
  tasks("tag", () => import("./tags/command.ts"), {
    tagUnbind: () => import("./tags/unbind.ts"),
  }),
  tasks("pipeline", () => import("./pipelines/command.ts"), {
    pipelineRun: () => import("./pipelines/run.ts"),
    pipelineNode: () => import("./pipelines/node.ts"),
  }),
  tasks("model", () => import("./models/command.ts"), {
    modelList: () => import("./models/list.ts"),
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
  tasks("check", () => import("./check/command.ts"), {
    kbCheck: () => import("./check/check.ts"),
  }),
  tasks("export import copy verify", () => import("./snapshot/command.ts"), {
    kbExport: () => import("./snapshot/export.ts"),
    kbImport: () => import("./snapshot/import.ts"),
    kbCopy: () => import("./snapshot/copy.ts"),
    kbVerify: () => import("./snapshot/verify.ts"),
  }),
  tasks("backup", () => import("./backup/command.ts"), {
    kbBackup: () => import("./backup/backup.ts"),
    backupList: () => import("./backup/list.ts"),
    backupDiff: () => import("./backup/diff.ts"),
    backupRestore: () => import("./backup/restore.ts"),
    backupDrill: () => import("./backup/drill.ts"),
    backupPrune: () => import("./backup/prune.ts"),
  }),
  tasks("heal", () => import("./heal/command.ts"), {
    kbHeal: () => import("./heal/heal.ts"),
  }),
  tasks("undo", () => import("./undo/command.ts"), {
    kbUndo: () => import("./undo/undo.ts"),
  }),
  tasks("pull plan apply", () => import("./declarative/command.ts"), {
    kbPull: () => import("./declarative/pull.ts"),
    kbPlan: async () => (await import("./declarative/apply.ts")).plan,
    kbApply: async () => (await import("./declarative/apply.ts")).apply,
  }),
  tasks("mcp", () => import("./mcp/command.ts"), {
    kbMcp: () => import("./mcp/mcp.ts"),
    kbMcpConfig: () => import("../shared/mcp/client-config.ts"),
  }),
];

export { kbRules } from "./rules/index.ts";

/** Backs up a knowledge base before a command and records it, for `kb undo`; returns what ends the record. */
export const recordKbChange: typeof startRecord = async (...given) =>
  (await import("./undo/index.ts")).startRecord(...given);
