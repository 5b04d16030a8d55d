import type * as operations from "../../operations/annotations.ts";
import { internalServerError, raise, HttpError } from "../protocol/errors.ts";
import { chooseEmbedding, embedFor, withModelErrors } from "../knowledge/indexing/embedding.ts";
import { similarity } from "../models/embedding.ts";
import type { RunStore, StoredAnnotation, StoredReplyJob } from "./records/runs-store.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import { type AppContext, requireApp, type AppHandlers } from "./context.ts";
import { appError, fillShape } from "./records/shapes.ts";

/** ms that a job takes. */
const DURATION = { enable: 300, disable: 0 } as const;

/** The jobs that switch annotation replies on and off. */
export const annotationReplyHandlers = {
  // Handles both actions of the route: enable and disable.
  enableAnnotationReply(context, input, call) {
    const { records } = context;
    const app = requireApp(call).name;
    const { action } = call.path;
    if (action !== "enable" && action !== "disable") throw internalServerError();
    // Disabling what is already disabled never ends (server §18).
    const isEndless = action === "disable" && !replySettings(records, app);
    const chosen = {
      threshold: input.score_threshold,
      provider: input.embedding_provider_name,
      model: input.embedding_model_name,
    };
    const job: StoredReplyJob = {
      id: records.newId(),
      app,
      action,
      ...chosen,
      due_at: isEndless ? null : records.now() + DURATION[action],
      error: action === "enable" ? reasonToFail(context, app, chosen) : null,
    };
    records.annotation_jobs.insert(job);
    return { json: { job_id: job.id, job_status: "waiting" } };
  },

  getAnnotationReplyStatus({ records }, { job_id: id }, call) {
    const app = requireApp(call).name;
    const match = { app, id, action: call.path["action"] as StoredReplyJob["action"] }; // or none
    const job = records.annotation_jobs.find(match) ?? raise(appError("job missing"));
    const ended = job.error === null ? "completed" : "error";
    const job_status = isDue(job, records.now()) ? ended : "waiting";
    return { json: { job_id: id, job_status, error_msg: job.error ?? "" } };
  },
} satisfies Partial<AppHandlers<typeof operations>>;

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

/**
 * The annotation whose question is the nearest to a message, if it is near enough: it has one hit more.
 * None if the model fails (server §18).
 */
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
  const scores = questions.map((vector) => (asked ? scoreOf(asked, vector) : 0));
  const best = Math.max(...scores);
  const found = best < settings.threshold ? undefined : all[scores.indexOf(best)];
  if (found) records.annotations.update({ id: found.id }, { hit_count: found.hit_count + 1 });
  return found;
}

/** The similarity of two vectors, rounded to their precision: equal questions have 1. */
const scoreOf = (a: Float32Array, b: Float32Array) => Number(similarity(a, b).toFixed(6));

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
