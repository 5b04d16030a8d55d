import { listAnnotations } from "../../../operations/annotations.ts";
import { getAppInfo, getAppParameters, getEndUser } from "../../../operations/apps.ts";
import {
  createCompletion,
  listFeedback,
  listMessages,
  sendMessage,
} from "../../../operations/chats.ts";
import { listChunks } from "../../../operations/chunks.ts";
import { listDocuments } from "../../../operations/documents.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import { local, report } from "../../../operations/operation.ts";
import { dataset_id, required } from "../../../operations/shared.ts";
import { runWorkflow } from "../../../operations/workflows.ts";
import { changesByPlan, task } from "../../task/command-spec.ts";

export const questionsParams = {
  dataset_id,
  file: local.text("File of questions to write, or to review", { required, isOutputPath: true }),
  app: local.text("Application that writes the questions, or has annotations", {
    placeholder: "name",
  }),
  from: local.choice(
    ["passages", "annotations", "dislikes"],
    "Where the questions come from (default passages)",
  ),
  count: local.integer("Number of questions (default 50)", { range: [1, 10_000] }),
  seed: local.integer("Choice of passages (default 1)", { range: [0, 4_294_967_295] }),
  prompt: local.text("Text file with the prompt for the application, which contains {{passage}}", {
    placeholder: "file",
  }),
  review: local.flag("Prompt for each question: keep, change or drop it"),
};

export const kbQuestions = task({
  command: "kb questions <kb> <file>",
  action: "generate questions for knowledge base {kb}",
  meant: ["generate"],
  summary: "Generate questions for `kb eval` and `kb tune`, and review them",
  about:
    "Draws a sample of passages. An application of the platform writes a question about each, and the\npassage becomes its expected answer. Documents are drawn in turn; longer chunks are more likely.\nQuestions that copy their passage, or are nearly the same as another one, are skipped. Half of the\ndocuments are for tuning, half for the proof (field part). After a kill, the same command asks only\nabout the passages that the application has not answered yet.\n\n--from annotations and --from dislikes take real questions, and propose as the passage what a search\nfinds. An existing file is not overwritten: --review prompts for its questions, and saves each reply.",
  parallel: true,
  params: questionsParams,
  returns: report,
  sends: [
    listDocuments,
    listChunks,
    getKnowledgeBase,
    searchKnowledgeBase,
    getAppInfo,
    getAppParameters,
    sendMessage,
    createCompletion,
    runWorkflow,
    listAnnotations,
    listFeedback,
    listMessages,
    getEndUser,
  ],
  ...changesByPlan,
  runsToEnd: true,
  examples: [
    "kb questions Handbook new.jsonl --app questioner --count 100 --dry-run",
    "kb questions Handbook new.jsonl --app questioner --count 20 --yes",
    "kb questions Handbook asked.jsonl --app chat --from annotations",
  ],
});
