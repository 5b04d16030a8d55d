import { usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { bytesOf } from "../../../lib/collect.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { FileInput, Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { evalParams } from "./command.ts";
import { parseQrels } from "./qrels.ts";
import { parseQuestions } from "./questions.ts";

type QuestionInput = Pick<
  Input<typeof evalParams>,
  "questions" | "queries" | "qrels" | "dataset_id"
>;

/** The questions of a file of them, or of the tests of a suite (YAML) that search the knowledge base. */
export async function readQuestions(input: QuestionInput, context: Context) {
  const { host } = context;
  const { questions, queries, qrels, dataset_id } = input;
  const file = questions ?? queries;
  if (!file || (questions && queries))
    throw usage(
      file ? "the questions are given twice" : "missing argument: <questions>",
      "give the file of questions once: kb eval Handbook questions.jsonl",
    );
  if (/\.ya?ml$/i.test(file.path)) {
    const { suiteQuestions } = await import("./suite-questions.ts");
    const { name } = await context.api.call(getKnowledgeBase, { dataset_id });
    const read = await suiteQuestions(file.path, [name, dataset_id], host.files);
    return { file: file.name, ...read };
  }
  const judged =
    qrels && parseQrels(qrels.name, new TextDecoder().decode(await readFileInput(qrels, host)));
  const read = await parseQuestions(file.name, await readFileInput(file, host), judged);
  return { file: file.name, ...read };
}

export const readFileInput = ({ path }: FileInput, { files, stdin }: Host): Promise<Uint8Array> =>
  path === "-" ? bytesOf(stdin.bytes()) : files.read(path);
