import {
  createAnnotation,
  enableAnnotationReply,
  listAnnotations,
  deleteAnnotation,
  getAnnotationReplyStatus,
  updateAnnotation,
} from "../../operations/annotations.ts";
import { setFeedback, listFeedback } from "../../operations/chats.ts";
import { type Call, type Handler, on, HttpError } from "../http/handler.ts";
import { numberParam } from "../http/page-params.ts";
import { invalidParam, notFound } from "../http/errors.ts";
import { appId, newId, toSeconds } from "../storage/ids.ts";
import { type RunStore } from "../storage/runs-store.ts";
import { requireApp, requireUser } from "./runs.ts";

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

/** What people note about answers: annotations, and feedback on messages. */
export function annotationHandlers(records: RunStore): readonly Handler[] {
  const { store, now, random } = records;

  function known(call: Call, id: string): Annotation {
    const row = store.get<Annotation>(
      "SELECT * FROM annotations WHERE app = ? AND id = ?",
      requireApp(call).name,
      id,
    );
    if (!row) throw notFound("Annotation not found");
    return row;
  }

  return [
    on(listAnnotations, (_input, call) => {
      const page = numberParam(call.query, "AnnotationListQuery", "page", 1, [1, Infinity]);
      const limit = numberParam(call.query, "AnnotationListQuery", "limit", 20, [1, Infinity]);
      const keyword = call.query.get("keyword")?.toLowerCase() ?? "";
      const rows = store
        .all<Annotation>(
          "SELECT * FROM annotations WHERE app = ? ORDER BY created_at DESC, rowid DESC",
          requireApp(call).name,
        )
        .filter(({ question, answer }) => `${question}\n${answer}`.toLowerCase().includes(keyword));
      const data = rows.slice((page - 1) * limit, page * limit).map(annotationOf);
      // A full last page promises more (server §5).
      return { json: { data, has_more: data.length === limit, limit, total: rows.length, page } };
    }),

    on(createAnnotation, (input, call) => {
      const row = {
        id: newId(random),
        app: requireApp(call).name,
        question: input.question,
        answer: input.answer,
        created_at: now(),
      };
      store.run(
        "INSERT INTO annotations VALUES (?, ?, ?, ?, ?)",
        row.id,
        row.app,
        row.question,
        row.answer,
        row.created_at,
      );
      return { status: 201, json: annotationOf(row) };
    }),

    on(updateAnnotation, (input, call) => {
      const row = known(call, input.annotation_id);
      const { question, answer } = input;
      store.run(
        "UPDATE annotations SET question = ?, answer = ? WHERE id = ?",
        question,
        answer,
        row.id,
      );
      return { json: annotationOf({ ...row, question, answer }) };
    }),

    on(deleteAnnotation, (input, call) => {
      store.run("DELETE FROM annotations WHERE id = ?", known(call, input.annotation_id).id);
      return { status: 204 };
    }),

    // Serves the route for both words: enable and disable.
    on(enableAnnotationReply, (_input, call) => {
      const job = newId(random);
      store.run("INSERT INTO annotation_jobs VALUES (?, ?)", job, requireApp(call).name);
      return { json: { job_id: job, job_status: "waiting" } };
    }),

    on(getAnnotationReplyStatus, ({ job_id }, call) => {
      const { name } = requireApp(call);
      if (!store.get("SELECT id FROM annotation_jobs WHERE app = ? AND id = ?", name, job_id)) {
        throw invalidParam("The job does not exist.");
      }
      const text = "Annotation replies need an embedding model; the sandbox has none.";
      throw new HttpError(501, "not_implemented", text);
    }),

    on(setFeedback, (input, call) => {
      const endUser = records.endUser(requireApp(call).name, requireUser(input));
      const message = records.message(endUser.app, input.message_id);
      if (!message) throw notFound("Message Not Exists.");
      if (!input.rating) {
        store.run(
          "DELETE FROM feedbacks WHERE message_id = ? AND end_user_id = ?",
          message.id,
          endUser.id,
        );
        return { json: { result: "success" } };
      }
      const at = now();
      store.run(
        `INSERT INTO feedbacks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (message_id, end_user_id) DO UPDATE SET
         rating = excluded.rating, content = excluded.content, updated_at = excluded.updated_at`,
        newId(random),
        endUser.app,
        message.conversation_id,
        message.id,
        endUser.id,
        input.rating,
        input.content ?? null,
        at,
        at,
      );
      return { json: { result: "success" } };
    }),

    on(listFeedback, (_input, call) => {
      const page = numberParam(call.query, "FeedbackListQuery", "page", 1, [1, Infinity]);
      const limit = numberParam(call.query, "FeedbackListQuery", "limit", 20, [1, 101]);
      const rows = store.all<Feedback>(
        "SELECT * FROM feedbacks WHERE app = ? ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?",
        requireApp(call).name,
        limit,
        (page - 1) * limit,
      );
      return { json: { data: rows.map(feedbackOf) } };
    }),
  ];
}

const annotationOf = (row: Annotation) => ({
  id: row.id,
  question: row.question,
  answer: row.answer,
  hit_count: 0,
  created_at: toSeconds(row.created_at),
});

/** ms → `2026-11-21T00:10:38`: no zone, UTC meant (server §1). */
export const zonelessTime = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

const feedbackOf = (row: Feedback) => ({
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
