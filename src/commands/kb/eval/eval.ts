import { requireField } from "../../../api/response-fields.ts";
import { CliError, diskProblem } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import { readBaseline, compareWithBaseline } from "./baseline.ts";
import { expectedDocuments } from "./expected-documents.ts";
import { conditionsOf, checkEvalConditions, verdictsOf } from "./gate.ts";
import { averageMetrics } from "./metrics.ts";
import { questionsIn } from "./questions.ts";
import { evaluationReport, junitCases } from "./report.ts";
import { searchQuestions } from "./search.ts";
import type { QuestionResult, SearchOptions, Result } from "./search.ts";
import { axesOf, variantsOf } from "./matrix.ts";
import type { Axis, SearchVariant, Variant } from "./matrix.ts";
import { rerankModel } from "../models/embedding-model.ts";
import { junitText } from "../../../lib/junit.ts";
import { changedSettings } from "../search.ts";
import { prepareOutput } from "../../output-path.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb eval`. */
export interface EvalInput {
  readonly dataset_id: string;
  readonly questions: FileInput;
  readonly k?: string | undefined;
  readonly retrieval_model?: unknown;
  readonly search_method?: string | undefined;
  readonly top_k?: number | undefined;
  readonly score_threshold?: number | undefined;
  readonly matrix?: readonly string[] | undefined;
  readonly rerank_model?: string | undefined;
  readonly failures?: boolean | undefined;
  readonly baseline?: FileInput | undefined;
  readonly save?: string | undefined;
  readonly fail_if?: readonly string[] | undefined;
  readonly junit?: string | undefined;
  readonly allow_missing?: boolean | undefined;
  readonly concurrency?: number | undefined;
  readonly wait_for_limit?: boolean | undefined;
}

/** Questions at a time; a stock server serves ten connections (server §4). */
const usualLanes = 3;
const usualCutOffs = [1, 3, 5, 10];

/**
 * Asks the questions of a file and measures what is found against what was expected, once for each
 * way to search. Throws `gate` as a verdict when a condition holds, and `partial` when questions were
 * not answered.
 */
export async function* run(input: EvalInput, context: Context): AsyncGenerator<Report> {
  const { dataset_id } = input;
  const { files } = context.host;
  const file = input.questions.name;
  const { questions, unused } = await questionsIn(
    file,
    await bytesOf(input.questions, context.host),
  );
  if (unused.length > 0) await context.notice(`${file}: not used: ${unused.join(", ")}`);
  const baseline =
    input.baseline &&
    readBaseline(
      input.baseline.name,
      new TextDecoder().decode(await bytesOf(input.baseline, context.host)),
    );
  const given = (["search_method", "top_k", "score_threshold"] as const).filter(
    (name) => input[name] !== undefined,
  );
  const axes = axesOf(input.matrix ?? [], given);
  const { save, junit } = input;
  if (save !== undefined) await prepareOutput(`--save ${save}`, save, context.host);
  if (junit !== undefined) await prepareOutput(`--junit ${junit}`, junit, context.host);

  const kb = await context.call(getKnowledgeBase, { dataset_id });
  const stored = isObject(input.retrieval_model)
    ? input.retrieval_model
    : requireField(kb.retrieval_model_dict, "retrieval_model_dict");
  const settings = await withReranker(changedSettings({ ...stored }, input), axes, input, context);
  const variants = variantsOf(settings, axes, {
    embedding_provider_name: kb.embedding_model_provider,
    embedding_model_name: kb.embedding_model,
  });
  const ks = cutOffs(input.k, variants);
  const conditions = conditionsOf(input.fail_if ?? [], ks, baseline !== undefined);
  const expected = await expectedDocuments(
    dataset_id,
    file,
    questions,
    input.allow_missing === true,
    context,
  );

  const results: Result[] = [];
  for (const variant of variants) {
    const asking: SearchOptions = {
      dataset_id,
      questions,
      expected,
      variant,
      ks: ks.filter((k) => k <= variant.topK),
      lanes: context.limitConcurrency(input.concurrency ?? usualLanes),
      waitForLimit: input.wait_for_limit === true,
    };
    results.push(await resultOf(asking, results.length, variants.length, context));
  }

  const comparisons = results.map(
    (result) => baseline && compareWithBaseline(result, baseline, results.length === 1),
  );
  const verdicts = verdictsOf(conditions, results, comparisons);
  const report = evaluationReport({
    kb: { id: kb.id, name: kb.name },
    file,
    questions: questions.length,
    results,
    verdicts,
    baseline: baseline && { file: baseline.file, compared: comparisons },
    failures: input.failures === true,
  });
  yield report;

  // Written when the figures are out: a full disk takes the file away, not the evaluation.
  const written = [
    [input.save, () => `${JSON.stringify(report.data)}\n`],
    [input.junit, () => junitText(`kb eval ${kb.name}`, junitCases(results))],
  ] as const;
  for (const [path, text] of written) {
    if (path === undefined) continue;
    await files.writeAtomic(path, text()).catch((error: unknown) => {
      throw notWritten(path, error);
    });
    await context.notice(`written to ${path}`);
  }
  const closed = checkEvalConditions(verdicts);
  const incomplete = unanswered(results);
  if (closed && incomplete) await context.notice(incomplete.message);
  const end = closed ?? incomplete;
  if (end) throw end;
}

/**
 * Settings with a rerank model where a search is to rerank: without one the server takes the request
 * and reranks nothing (server §8), so that a comparison would be of a search with itself.
 */
async function withReranker(
  settings: SearchVariant,
  axes: readonly Axis[],
  { rerank_model }: EvalInput,
  context: Context,
): Promise<SearchVariant> {
  const varied = axes.find(({ name }) => name === "reranking_enable");
  const reranks = varied?.values.includes("true") === true || rerank_model !== undefined;
  const named = valueAt(settings, "reranking_model.reranking_model_name");
  const known = rerank_model === undefined && typeof named === "string" && named !== "";
  if (!reranks || known || settings["reranking_mode"] === "weighted_score") return settings;
  const { provider, model } = await rerankModel(rerank_model, context);
  return {
    ...settings,
    reranking_mode: "reranking_model",
    reranking_model: { reranking_provider_name: provider, reranking_model_name: model },
  };
}

async function bytesOf({ path }: FileInput, host: Host): Promise<Uint8Array> {
  if (path !== "-") return host.files.read(path);
  const pieces: Uint8Array[] = [];
  for await (const piece of host.stdin.bytes()) pieces.push(piece);
  return Buffer.concat(pieces);
}

const notWritten = (path: string, error: unknown): CliError => {
  const problem = diskProblem(error);
  if (!problem) throw error;
  return new CliError(problem.kind, `${path} was not written: ${problem.reason}`, {
    cause: error,
    isResult: true,
  });
};

/** Reads `--k`; without it the usual ones that the searches reach. Throws usage. */
function cutOffs(text: string | undefined, variants: readonly Variant[]): number[] {
  const reach = variants.map(({ topK }) => topK);
  if (text === undefined) {
    // Where a search reaches less far, its end is looked at as well.
    const ends = reach.map((topK) => Math.min(topK, ...usualCutOffs.slice(-1)));
    return ascending([...usualCutOffs.filter((k) => k <= Math.max(...ends)), ...ends]);
  }
  const ks = text.split(",").map((word) => word.trim());
  const bad = ks.find((word) => !/^[1-9]\d{0,2}$/.test(word));
  if (bad !== undefined) {
    throw new CliError("usage", `--k ${JSON.stringify(bad)} is no whole number from 1`, {
      sideEffect: "none",
      hint: "--k 1,3,5",
    });
  }
  const most = Math.max(...reach);
  const numbers = ascending(ks.map(Number));
  const beyond = numbers.find((k) => k > most);
  if (beyond !== undefined) {
    throw new CliError("usage", `--k ${beyond}: a search gives ${most} chunks at most`, {
      sideEffect: "none",
      hint: `add --top-k ${beyond}`,
    });
  }
  return numbers;
}

const ascending = (numbers: readonly number[]): number[] =>
  [...new Set(numbers)].sort((a, b) => a - b);

async function resultOf(
  asking: SearchOptions,
  before: number,
  variants: number,
  context: Context,
): Promise<Result> {
  const { variant, ks, questions } = asking;
  const all: QuestionResult[] = [];
  for await (const answer of searchQuestions(asking, context)) {
    all.push(answer);
    context.progress({
      done: before * questions.length + all.length,
      total: variants * questions.length,
      unit: "questions",
    });
  }
  const answered = all.filter(({ error }) => error === null);
  return {
    variant,
    ks,
    answers: all,
    figures: averageMetrics(answered, ks),
    failed: all.length - answered.length,
  };
}

/** The error for questions without an answer; undefined when there is none. */
function unanswered(results: readonly Result[]): CliError | undefined {
  const failed = results.flatMap(({ variant, answers: all }) =>
    all.flatMap(({ question, error }) =>
      error === null
        ? []
        : [{ line: question.line, question: question.key, label: variant.label, error }],
    ),
  );
  const [first] = failed;
  if (!first) return undefined;
  const asked = results.reduce((sum, each) => sum + each.answers.length, 0);
  return new CliError(
    "partial",
    `${failed.length} of ${asked} searches failed; line ${first.line}: ${first.error}`,
    { isResult: true, details: { failed } },
  );
}
