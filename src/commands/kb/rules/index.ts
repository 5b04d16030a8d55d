import { usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { updateChunk } from "../../../operations/chunks.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { CommandRules, Filling } from "../../task/command-rules.ts";

type ChunkUpdate = InputOf<typeof updateChunk>;

const documents = () => import("./document-values.ts");
const deletions = () => import("./deletions.ts");

/** The server answers before it indexes a content, and no search finds it until then. */
const next: CommandRules["next"] = ({ dataset_id }) =>
  `; not indexed yet: ${commandLine("kb doc wait", [String(dataset_id)])}`;

const beforeSend: CommandRules["beforeSend"] = async (...args) =>
  (await documents()).nameReplaced(...args);

/** What the commands of knowledge bases that are one request do besides. */
export const kbRules: Readonly<Record<string, CommandRules>> = {
  "kb create": {
    ask: async (input, context) => (await import("./create.ts")).chooseTechnique(input, context),
    fills: ["indexing_technique", "embedding_model", "embedding_model_provider"],
    fill: async (filling) => (await import("./document-values.ts")).fillNew(filling),
    explain: async (kb, context) => (await import("./create.ts")).noticeOpenTechnique(kb, context),
  },
  "kb update": {
    fills: ["embedding_model", "embedding_model_provider"],
    fill: async (filling) => (await import("./document-values.ts")).fillModel(filling),
    send: async (input, context) =>
      (await import("./document-values.ts")).sendSettings(input, context),
    explain: async (_, context, input) => (await documents()).tellRenamed(input, context),
  },
  "kb delete": { deletion: async (...args) => (await deletions()).ofKnowledgeBase(...args) },
  "kb search": { fill: oneOrAll },
  "kb sync": {
    ask: async (...args) => (await import("./create.ts")).createMissing(...args),
  },
  "kb doc add": {
    next,
    beforeSend,
    explain: async (response) => (await documents()).tellReplaced(response),
    fill: async (filling) => (await documents()).fillAdded(filling),
  },
  "kb doc upload": {
    next,
    beforeSend,
    explain: async (response) => (await documents()).tellReplaced(response),
    checkPaths: async (...args) => (await documents()).rejectUnfit(...args),
    fill: async (filling) => (await documents()).fillUploaded(filling),
  },
  "kb doc status": {
    fills: ["batch"],
    fill: async (filling) => (await documents()).requireBatch(filling),
  },
  "kb doc update": {
    next,
    beforeSend,
    fill: async (filling) => (await documents()).fillUpdated(filling),
  },
  "kb doc edit": { next },
  "kb doc replace": {
    next,
    checkPaths: async (...args) => (await documents()).rejectUnfit(...args),
    fill: async (filling) => (await documents()).fillReplaced(filling),
  },
  "kb doc delete": { deletion: async (...args) => (await deletions()).ofDocument(...args) },
  "kb chunk update": {
    fill: async (filling) => (await documents()).fillChunk(filling),
    // Its values are checked against its parameters.
    send: async (input, context) =>
      (await import("../chunk-lists/index.ts")).updateStored(input as ChunkUpdate, context),
  },
  "kb metadata delete": {
    deletion: async (...args) => (await deletions()).ofMetadataField(...args),
  },
  "kb tag delete": { deletion: async (...args) => (await deletions()).ofTag(...args) },
};

/** Throws usage for a search in no knowledge base, and for one in all that names one, before that is looked up. */
async function oneOrAll({ input, resolved }: Filling): Promise<Record<string, unknown>> {
  const { dataset_id: kb, all = false, only } = input;
  const query = String(input["query"]);
  const named = [only ?? []].flat().map(String);
  const some = commandLine("kb search", [query], { all: true, only: named });
  if (only && !all) throw usage("--only needs --all", some);
  if ((kb === undefined) === all) return resolved();
  const one = commandLine("kb search", [String(kb ?? "KB"), query]);
  const inAll = commandLine("kb search", [kb ? `${String(kb)} ${query}` : query], { all: true });
  throw usage(
    all ? "with --all, the query is the only argument" : "name a knowledge base, or pass --all",
    `in one: ${one}, in all: ${inAll}`,
  );
}
