import type * as annotations from "../../operations/annotations.ts";
import type * as chats from "../../operations/chats.ts";
import { chooseEmbedding, embedFor, withModelErrors } from "../knowledge/indexing/segments.ts";
import { similarity } from "../models/words.ts";
import { HttpError, internalServerError, raise } from "../protocol/response.ts";
import { numberParam } from "../protocol/validation.ts";
import { type AppCall, type AppContext, type AppHandlers, requireUser } from "./context.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import type { RunStore, StoredAnnotation, StoredReplyJob } from "./records/runs-store.ts";
import { appError, fillShape } from "./records/shapes.ts";
import { atLeast, nextServer } from "../../lib/version.ts";

/** ms that a job takes. */
const DURATION = { enable: 300, disable: 0 } as const;

/** Annotations, the jobs that switch replies with them on and off, and feedback on messages. */
export const annotationHandlers = {
  listAnnotations({ records }, _input, call) {
    const app = call.app.name;
    const keyword = call.query.get("keyword")?.toLowerCase() ?? "";
    const all = records.annotations
      .list({ app }, "created_at DESC, rowid DESC")
      .filter(({ question, answer }) => `${question}\n${answer}`.toLowerCase().includes(keyword));
    const { page, limit } = pageParams(call, "AnnotationListQuery", Infinity);
    const data = all
      .slice((page - 1) * limit, page * limit)
      .map((row) => fillShape("annotation", row));
    // has_more is true after a full last page (server §5).
    return { json: { data, has_more: data.length === limit, limit, total: all.length, page } };
  },

  createAnnotation({ records }, { question, answer }, call) {
    const app = call.app.name;
    const row = records.annotations.insert({ app, question, answer, hit_count: 0 });
    return { status: 201, json: fillShape("annotation", row) };
  },

  updateAnnotation({ records }, { annotation_id, question, answer }, call) {
    const row = getAnnotation(records, call, annotation_id);
    records.annotations.update({ id: row.id }, { question, answer });
    return { json: fillShape("annotation", { ...row, question, answer }) };
  },

  deleteAnnotation({ records }, { annotation_id }, call) {
    const { id } = getAnnotation(records, call, annotation_id);
    records.annotations.delete({ id });
    return { status: 204 };
  },

  setFeedback({ records }, input, call) {
    const endUser = records.endUser(call.app.name, requireUser(input));
    const { app, id: end_user_id } = endUser;
    const message =
      records.messages.find({ app, id: input.message_id }) ?? raise(appError("message missing"));
    const { id: message_id, conversation_id } = message;
    const { rating, content = null } = input;
    const known = records.feedbacks.find({ message_id, end_user_id });
    const isNext = atLeast(call.version, nextServer); // has a code of its own (server §3.1)
    if (!rating) {
      if (!known) throw appError(isNext ? "rating required" : "rating missing");
      records.feedbacks.delete({ message_id, end_user_id });
    } else if (known) {
      records.feedbacks.update({ id: known.id }, { rating, content, updated_at: records.now() });
    } else {
      records.feedbacks.insert({ app, conversation_id, message_id, end_user_id, rating, content });
    }
    return { json: { result: "success" } };
  },

  listFeedback({ records }, _input, call) {
    const { page, limit } = pageParams(call, "FeedbackListQuery", 101);
    const feedback = records.feedbacks.select(
      "WHERE app = ? ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?",
      call.app.name,
      limit,
      (page - 1) * limit,
    );
    return { json: { data: feedback.map((row) => fillShape("feedback", row)) } };
  },

  // Handles both actions of the route: enable and disable.
  enableAnnotationReply(context, input, call) {
    const { records } = context;
    const app = call.app.name;
    const { action } = call.path;
    if (action !== "enable" && action !== "disable") throw internalServerError();
    // Disabling what is already disabled never ends (server §18).
    const isEndless = action === "disable" && !replySettings(records, app);
    const chosen = {
      threshold: input.score_threshold,
      provider: input.embedding_provider_name,
      model: input.embedding_model_name,
    };
    const job = records.annotation_jobs.insert({
      app,
      action,
      ...chosen,
      due_at: isEndless ? null : records.now() + DURATION[action],
      error: action === "enable" ? reasonToFail(context, app, chosen) : null,
    });
    return { json: { job_id: job.id, job_status: "waiting" } };
  },

  getAnnotationReplyStatus({ records }, { job_id: id }, call) {
    const app = call.app.name;
    const match = { app, id, action: call.path["action"] as StoredReplyJob["action"] }; // or none
    const job = records.annotation_jobs.find(match) ?? raise(appError("job missing"));
    const ended = job.error === null ? "completed" : "error";
    const job_status = isDue(job, records.now()) ? ended : "waiting";
    return { json: { job_id: id, job_status, error_msg: job.error ?? "" } };
  },
} satisfies Partial<AppHandlers<typeof annotations & typeof chats>>;

const pageParams = ({ query }: AppCall, model: string, maxLimit: number) => ({
  page: numberParam(query, model, "page", [1, Infinity]),
  limit: numberParam(query, model, "limit", [1, maxLimit]),
});

const getAnnotation = ({ annotations }: RunStore, call: AppCall, id: string) =>
  annotations.find({ app: call.app.name, id }) ?? raise(appError("annotation missing"));

type ChosenModel = Pick<StoredReplyJob, "provider" | "model">;

/** The embedding model of annotation replies and the least similarity of the questions. */
type ReplySettings = ChosenModel & Pick<StoredReplyJob, "id" | "threshold">;

/** The settings in effect, by the jobs that are done; undefined while replies are off. */
function replySettings(records: RunStore, app: string): ReplySettings | undefined {
  const now = records.now();
  let settings: ReplySettings | undefined;
  for (const job of records.annotation_jobs.list({ app, error: null }, "due_at, rowid")) {
    if (!isDue(job, now)) continue;
    settings = job.action === "enable" ? { ...job, id: settings?.id ?? job.id } : undefined;
  }
  return settings;
}

const isDue = ({ due_at }: StoredReplyJob, now: number) => due_at !== null && due_at <= now;

/** Annotation replies as `GET /parameters` reports them. */
export function shownSettings({ records }: AppContext, app: string): object {
  const settings = replySettings(records, app);
  return settings ? fillShape("annotation reply", { ...settings }) : { enabled: false };
}

/** Why the questions cannot be embedded; without annotations nothing fails (server §18). */
function reasonToFail(context: AppContext, app: string, settings: ChosenModel): string | null {
  const [first] = context.records.annotations.list({ app });
  const problem = first && tryToEmbed(context, settings, [first.question]);
  return problem instanceof HttpError ? problem.message : null;
}

/** The annotation with the nearest question, if near enough; one hit more. None if the model fails (server §18). */
export function findAnnotation(
  context: AppContext,
  { name: app }: Pick<AppDefinition, "name">,
  query: string,
): StoredAnnotation | undefined {
  const { records, model } = context;
  const settings = model && replySettings(records, app);
  if (!settings) return undefined;
  const all = records.annotations.list({ app });
  const vectors = tryToEmbed(context, settings, [query, ...all.map(({ question }) => question)]);
  if (vectors instanceof HttpError) return undefined;
  const [asked, ...questions] = vectors;
  // Rounded to the precision of vectors: equal questions have 1.
  const scores = questions.map((each) => (asked ? Number(similarity(asked, each).toFixed(6)) : 0));
  const best = Math.max(...scores);
  const found = best < settings.threshold ? undefined : all[scores.indexOf(best)];
  if (found) records.annotations.update({ id: found.id }, { hit_count: found.hit_count + 1 });
  return found;
}

/** The vectors of texts, or why they cannot be embedded. */
function tryToEmbed(
  context: AppContext,
  { provider, model }: ChosenModel,
  texts: readonly string[],
): readonly Float32Array[] | HttpError {
  try {
    const sent = { embedding_model: model, embedding_model_provider: provider };
    const chosen = chooseEmbedding(context, "high_quality", sent);
    return withModelErrors(() => texts.map((text) => embedFor(chosen, text)));
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
}
