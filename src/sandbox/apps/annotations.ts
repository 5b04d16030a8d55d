import * as operations from "../../operations/annotations.ts";
import { listFeedback, setFeedback } from "../../operations/chats.ts";
import { invalidParam, notFound } from "../http/errors.ts";
import { bindHandlers, type Call, type Handlers, HttpError } from "../http/handler.ts";
import { numberParam } from "../http/page-params.ts";
import { appId, toSeconds } from "../storage/ids.ts";
import type { RunStore } from "../storage/runs-store.ts";
import { type AppContext, requireApp, requireUser } from "./context.ts";

interface Annotation {
  readonly id: string;
  readonly app: string;
  readonly question: string;
  readonly answer: string;
  readonly created_at: number;
}

interface Feedback {
  readonly id: string;
  readonly app: string;
  readonly conversation_id: string;
  readonly message_id: string;
  readonly end_user_id: string;
  readonly rating: string;
  readonly content: string | null;
  readonly created_at: number;
  readonly updated_at: number;
}

const rows = { ...operations, setFeedback, listFeedback };

/** Annotations, and feedback on messages. */
const handlers: Handlers<typeof rows, AppContext> = {
  listAnnotations({ records }, _input, call) {
    const page = numberParam(call.query, "AnnotationListQuery", "page", 1, [1, Infinity]);
    const limit = numberParam(call.query, "AnnotationListQuery", "limit", 20, [1, Infinity]);
    const keyword = call.query.get("keyword")?.toLowerCase() ?? "";
    const matches = records.store
      .all<Annotation>(
        "SELECT * FROM annotations WHERE app = ? ORDER BY created_at DESC, rowid DESC",
        requireApp(call).name,
      )
      .filter(({ question, answer }) => `${question}\n${answer}`.toLowerCase().includes(keyword));
    const data = matches.slice((page - 1) * limit, page * limit).map(annotationResponse);
    // has_more is true after a full last page (server §5).
    return { json: { data, has_more: data.length === limit, limit, total: matches.length, page } };
  },

  createAnnotation({ records }, { question, answer }, call) {
    const app = requireApp(call).name;
    const row = { id: records.newId(), app, question, answer, created_at: records.now() };
    records.store.insert("annotations", row);
    return { status: 201, json: annotationResponse(row) };
  },

  updateAnnotation({ records }, { annotation_id, question, answer }, call) {
    const row = getAnnotation(records, call, annotation_id);
    records.store.update("annotations", row.id, { question, answer });
    return { json: annotationResponse({ ...row, question, answer }) };
  },

  deleteAnnotation({ records }, { annotation_id }, call) {
    const { id } = getAnnotation(records, call, annotation_id);
    records.store.run("DELETE FROM annotations WHERE id = ?", id);
    return { status: 204 };
  },

  // Handles both actions of the route: enable and disable.
  enableAnnotationReply({ records }, _input, call) {
    const id = records.newId();
    records.store.insert("annotation_jobs", { id, app: requireApp(call).name });
    return { json: { job_id: id, job_status: "waiting" } };
  },

  getAnnotationReplyStatus({ records }, { job_id }, call) {
    const { name } = requireApp(call);
    if (records.store.count("annotation_jobs WHERE app = ? AND id = ?", name, job_id) === 0) {
      throw invalidParam("The job does not exist.");
    }
    const text = "Annotation replies need an embedding model; the sandbox has none.";
    throw new HttpError(501, "not_implemented", text);
  },

  setFeedback({ records }, input, call) {
    const endUser = records.endUser(requireApp(call).name, requireUser(input));
    const message = records.message(endUser.app, input.message_id);
    if (!message) throw notFound("Message Not Exists.");
    if (!input.rating) {
      const sql = "DELETE FROM feedbacks WHERE message_id = ? AND end_user_id = ?";
      records.store.run(sql, message.id, endUser.id);
      return { json: { result: "success" } };
    }
    const now = records.now();
    const row: Feedback = {
      id: records.newId(),
      app: endUser.app,
      conversation_id: message.conversation_id,
      message_id: message.id,
      end_user_id: endUser.id,
      rating: input.rating,
      content: input.content ?? null,
      created_at: now,
      updated_at: now,
    };
    const update = ["rating", "content", "updated_at"].map((name) => `${name} = excluded.${name}`);
    records.store.insert(
      "feedbacks",
      row,
      `(message_id, end_user_id) DO UPDATE SET ${update.join(", ")}`,
    );
    return { json: { result: "success" } };
  },

  listFeedback({ records }, _input, call) {
    const page = numberParam(call.query, "FeedbackListQuery", "page", 1, [1, Infinity]);
    const limit = numberParam(call.query, "FeedbackListQuery", "limit", 20, [1, 101]);
    const feedback = records.store.all<Feedback>(
      "SELECT * FROM feedbacks WHERE app = ? ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?",
      requireApp(call).name,
      limit,
      (page - 1) * limit,
    );
    return { json: { data: feedback.map(feedbackResponse) } };
  },
};

export const annotationHandlers = bindHandlers(rows, handlers);

function getAnnotation({ store }: RunStore, call: Call, id: string): Annotation {
  const sql = "SELECT * FROM annotations WHERE app = ? AND id = ?";
  const row = store.get<Annotation>(sql, requireApp(call).name, id);
  if (!row) throw notFound("Annotation not found");
  return row;
}

const annotationResponse = (row: Annotation) => ({
  id: row.id,
  question: row.question,
  answer: row.answer,
  hit_count: 0,
  created_at: toSeconds(row.created_at),
});

/** Formats ms as `2026-11-21T00:10:38`: UTC without a zone (server §1). */
export const zonelessTime = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

const feedbackResponse = (row: Feedback) => ({
  id: row.id,
  app_id: appId(row.app),
  conversation_id: row.conversation_id,
  message_id: row.message_id,
  rating: row.rating,
  content: row.content,
  from_source: "user",
  from_end_user_id: row.end_user_id,
  from_account_id: null,
  created_at: zonelessTime(row.created_at),
  updated_at: zonelessTime(row.updated_at),
});
