import {
  createChunks,
  deleteChunk,
  listChildChunks,
  listChunks,
} from "../../../operations/chunks.ts";
import { local, onTerminal } from "../../../operations/operation.ts";
import { dataset_id } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";
import { changeResults, transferFlags, transfers } from "../changes/index.ts";
import { madeThere } from "../snapshot/index.ts";

export const healParams = {
  dataset_id,
  stuck_after: local.duration("Also replace documents unfinished for longer (default: none)"),
  wait_for_limit: transferFlags.wait_for_limit,
};

export const kbHeal = task({
  command: "kb heal <kb>",
  action: "heal knowledge base {kb}",
  summary: "Index again what failed: documents in error, without chunks, and single chunks",
  about:
    "Replaces a document by a create of the same name, with the content that the server has of it. Before,\nits content, chunks and metadata are saved on this machine; afterwards metadata and edits of chunks are\nput back. A chunk that was not indexed is added again at the end and then deleted, unless a new one\nwould lack its summary, attachments or edited child chunks. Nothing else is deleted, and disabled or\narchived documents are left as they are. An interrupted run is continued by\nthe same command.",
  parallel: true,
  params: healParams,
  returns: onTerminal(changeResults, madeThere),
  sends: [...transfers, listChunks, listChildChunks, createChunks, deleteChunk],
  effect: "writes",
  plans: true,
  exits: ["partial"],
  examples: ["kb heal Handbook --dry-run", "kb heal Handbook --stuck-after 2h"],
});
