import { listChunks } from "../../../operations/chunks.ts";
import {
  deleteKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
  updateKnowledgeBase,
} from "../../../operations/knowledge.ts";
import {
  fileOrText,
  list,
  local,
  onTerminal,
  withNamePath,
} from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { deleteMetadataField } from "../../../operations/metadata.ts";
import { unbindTags } from "../../../operations/tags.ts";
import { changesByPlan, task } from "../../task/command-spec.ts";
import { transferFlags, syncRequests } from "../changes/index.ts";
import { makes, map_model, madeThere, reads } from "../snapshot/index.ts";

const directory = local.text("Directory of the backup", { required, placeholder: "dir" });
const kb = local.text("Name or ID of the knowledge base, as in `kb backup list`", {
  required,
  placeholder: "kb",
});

export const backupParams = {
  directory,
  dataset_id: local.ref("kb", "Knowledge base name or ID", { many: true }),
  all: local.flag("Back up all knowledge bases"),
  no_chunks: local.flag("Skip chunks, which saves one request per document"),
};

export const kbBackup = task({
  command: "kb backup <dir> [kb...]",
  action: "back up to {dir}",
  meant: ["save", "snapshot"],
  summary: "Back up knowledge bases to a directory, sharing what did not change",
  about:
    "Each run adds a snapshot; contents are stored once, under their SHA-256, so restic, rclone or git\ncan carry the directory on. Sends reads only, and downloads only what changed since the last snapshot.\nAn interrupted backup leaves the earlier snapshots as they are; the same command continues.",
  params: backupParams,
  returns: onTerminal(
    { form: "results", outcome: "action", name: "kb", reason: "note", routine: ["stored"] },
    withNamePath("snapshot", list("", "action kb snapshot documents downloaded added:bytes note")),
  ),
  sends: [listKnowledgeBases, ...reads, listChunks],
  effect: "reads",
  runsToEnd: true,
  exits: ["partial"],
  examples: ["kb backup backups Handbook", "kb backup backups --all -o jsonl"],
});

export const snapshotListParams = { directory, kb: local.text("Only this knowledge base") };

export const backupList = task({
  command: "kb backup list <dir>",
  action: "list the snapshots in {dir}",
  summary: "List the snapshots of a backup, newest first",
  params: snapshotListParams,
  returns: withNamePath(
    "snapshot",
    list("", "snapshot kb taken:time documents bytes:bytes note status ... kb_id server"),
  ),
  effect: "reads",
  exits: ["partial"],
  examples: ["kb backup list backups", "kb backup list backups --kb Handbook -o json"],
});

const differences = onTerminal(
  { form: "results", outcome: "what", name: "name", reason: "note", routine: [] },
  withNamePath("name", list("", "what name:name note a b")),
);

export const snapshotDiffParams = {
  directory,
  kb: local.text("Knowledge base whose snapshots are compared (default: that of the last one)"),
  a: local.text("Snapshot ID or its beginning (default: the last but one)", { placeholder: "a" }),
  b: local.text("Snapshot ID or its beginning (default: the last one)", { placeholder: "b" }),
};

export const backupDiff = task({
  command: "kb backup diff <dir> [a] [b]",
  action: "compare snapshots {a} and {b}",
  summary: "Show what changed from one snapshot to another",
  params: snapshotDiffParams,
  returns: differences,
  effect: "reads",
  examples: ["kb backup diff backups", "kb backup diff backups 1a2b3c4d 5e6f7a8b -o json"],
});

export const restoreParams = {
  directory,
  kb,
  at: local.time("As it was at this time (default: the newest snapshot)"),
  snapshot: local.text("Snapshot ID or its beginning", { placeholder: "id" }),
  name: local.text("Name of the new knowledge base (default: as backed up)"),
  into: local.text("Existing knowledge base to restore into"),
  only: local.text("Only this document, with --into or --name", { many: true, placeholder: "doc" }),
  split_again: local.flag("Let the server split the texts again instead of restoring their chunks"),
  map_model,
  ...transferFlags,
};

export const backupRestore = task({
  command: "kb backup restore <dir> <kb>",
  action: "restore {kb} from {dir}",
  summary: "Create a knowledge base as it was in a snapshot",
  about:
    "Checks the hashes of all files before it sends anything, and says what will be embedded. Chunks come\nback as they were, edited ones included. After an interruption, the same command continues. With\n--into, other documents stay; if manual changes to chunks would be lost, it lists them and asks first.\nWith --only and --into, settings and tags stay, too, and fields are added only for the values of the document.",
  parallel: true,
  params: restoreParams,
  returns: madeThere,
  sends: makes,
  ...changesByPlan,
  examples: [
    "kb backup restore backups Handbook --name 'Handbook restored' --yes",
    "kb backup restore backups Handbook --only leave.md --into Handbook --yes",
    "kb backup restore backups Handbook --at '2 days ago' --dry-run",
  ],
});

export const backupCatParams = {
  directory,
  kb,
  document: local.text("Document name or ID", { required, placeholder: "doc" }),
  snapshot: restoreParams.snapshot,
  chunks: local.flag("Print the text as it was indexed: the chunks, which may overlap"),
};

export const backupCat = task({
  command: "kb backup cat <dir> <kb> <doc>",
  action: "read document {doc} from {dir}",
  meant: ["backup print", "backup dump"],
  summary: "Print the content of a document in a snapshot",
  about:
    "Prints the file, byte for byte, of the newest complete snapshot, or the chunks in order if the backup\nhas no file of it. Sends nothing.",
  params: backupCatParams,
  returns: fileOrText,
  effect: "reads",
  exits: ["not-found", "refused"],
  examples: [
    "kb backup cat backups Handbook leave.md",
    "kb backup cat backups Handbook leave.md --output-file leave.md",
  ],
});

export const drillParams = {
  directory,
  kb,
  at: restoreParams.at,
  snapshot: restoreParams.snapshot,
  questions: local.file("Questions that must find the same: CSV or JSON Lines, as of kb eval"),
  map_model,
  wait_for_limit: transferFlags.wait_for_limit,
};

export const backupDrill = task({
  command: "kb backup drill <dir> <kb>",
  action: "prove the backup of {kb} in {dir}",
  summary: "Restore into a temporary knowledge base, compare, and remove it",
  about:
    "Compares every document, chunk, value and setting (not tags) with the snapshot, and with --questions what\nsearches find with what they find in the knowledge base itself, if it still exists. Exits with code 14 if\nanything differs. The temporary knowledge base is removed at the end, or after a kill by the next drill\non this machine, which deletes only a knowledge base whose name and description the drill had noted\nbefore it created it.",
  parallel: true,
  params: drillParams,
  returns: differences,
  sends: [...makes, ...reads, searchKnowledgeBase, deleteKnowledgeBase, listKnowledgeBases],
  effect: "writes",
  confirms: true,
  exits: ["partial", "gate"],
  examples: [
    "kb backup drill backups Handbook --yes",
    "kb backup drill backups Handbook --questions questions.jsonl --yes",
  ],
});

export const pruneParams = {
  directory,
  keep: local.text("Snapshots to keep of each knowledge base: last=3,daily=7,weekly=4", {
    required,
    placeholder: "policy",
    many: true,
    meant: ["--keep-last"],
  }),
  dry_run: local.flag("Show what would be removed", { short: "n" }),
};

export const backupPrune = task({
  command: "kb backup prune <dir>",
  action: "remove snapshots from {dir}",
  summary: "Remove old snapshots, and files that no snapshot needs",
  about:
    "Keeps the newest snapshot of each of the last hours, days, weeks, months or years that have one\n(hourly, daily, weekly, monthly, yearly), the last ones (last), and always the newest.",
  params: pruneParams,
  returns: onTerminal(
    { form: "results", outcome: "action", name: "kb", reason: "note", routine: ["removed"] },
    withNamePath("snapshot", list("", "action kb snapshot taken:time note")),
  ),
  ...changesByPlan,
  examples: [
    "kb backup prune backups --keep daily=7,weekly=4 --dry-run",
    "kb backup prune backups --keep last=3 --yes",
  ],
});

export const undoParams = {
  list: local.flag("List the commands that can be undone, the last one first, with their IDs"),
  record: local.text("ID of --list or its beginning: another command than the last one", {
    placeholder: "id",
  }),
  forget: local.flag(
    "Forget the command instead, so that an older one is the last; its backup stays",
  ),
};

const records = withNamePath(
  "record",
  list("", "record command at:time kb=name note:sparse ... action what id:id"),
);

export const kbUndo = task({
  command: "kb undo",
  action: "undo the last command",
  meant: ["revert", "rollback"],
  summary: "Undo the last command that was run with --backup",
  about:
    "Makes documents, chunks, metadata, tags and settings what they were before the command. It changes\nonly what the command changed, and only where that is still what the command left; otherwise it\nlists the differences and changes nothing. IDs, hit counts and times cannot be restored, nor do\npermissions of selected members. After an interruption, the same command continues.",
  params: undoParams,
  returns: madeThere,
  output: ({ list: lists, forget }) => (lists || forget ? records : undefined),
  sends: [...makes, ...syncRequests, updateKnowledgeBase, deleteMetadataField, unbindTags],
  ...changesByPlan,
  examples: ["kb undo --yes", "kb undo --dry-run", "kb undo --list", "kb undo --forget --yes"],
});
