import { updateKnowledgeBase } from "../../../operations/knowledge.ts";
import { deleteMetadataField } from "../../../operations/metadata.ts";
import { local } from "../../../operations/operation.ts";
import { unbindTags } from "../../../operations/tags.ts";
import { task } from "../../task/command-spec.ts";
import { syncRequests } from "../changes/index.ts";
import { madeThere, makes } from "../snapshot/index.ts";

export const undoParams = {
  list: local.flag("List the commands that can be taken back, the last one first"),
};

export const kbUndo = task({
  command: "kb undo",
  action: "take back the last command",
  summary: "Take back the last command that was run with --backup",
  about:
    "Makes documents, chunks, metadata, tags and settings what they were before the command. It changes\nonly what the command changed, and only where that is still what the command left; otherwise it\nlists the differences and changes nothing. IDs, hit counts and times do not come back, nor do\npermissions of selected members. After an interruption, the same command continues.",
  params: undoParams,
  returns: madeThere,
  sends: [...makes, ...syncRequests, updateKnowledgeBase, deleteMetadataField, unbindTags],
  effect: "writes",
  confirms: true,
  plans: true,
  exits: ["partial"],
  examples: ["kb undo --yes", "kb undo --dry-run", "kb undo --list"],
});
