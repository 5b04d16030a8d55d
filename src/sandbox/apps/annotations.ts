import type * as annotations from "../../operations/annotations.ts";
import type * as chats from "../../operations/chats.ts";
import { raise } from "../protocol/errors.ts";
import { numberParam } from "../protocol/page-params.ts";
import type { RunStore } from "./records/runs-store.ts";
import { requireApp, requireUser, type AppHandlers, type AppCall } from "./context.ts";
import { fillShape, appError } from "./records/shapes.ts";

/** Annotations, and feedback on messages. */
export const annotationHandlers = {
  listAnnotations({ records }, _input, call) {
    const app = requireApp(call).name;
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
    const app = requireApp(call).name;
    const row = {
      id: records.newId(),
      app,
      question,
      answer,
      hit_count: 0,
      created_at: records.now(),
    };
    records.annotations.insert(row);
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
    const endUser = records.endUser(requireApp(call).name, requireUser(input));
    const { app, id: end_user_id } = endUser;
    const message =
      records.messages.find({ app, id: input.message_id }) ?? raise(appError("message missing"));
    const { id: message_id, conversation_id } = message;
    const { rating, content = null } = input;
    const known = records.feedbacks.find({ message_id, end_user_id });
    const now = records.now();
    if (!rating) {
      records.feedbacks.delete({ message_id, end_user_id });
    } else if (known) {
      records.feedbacks.update({ id: known.id }, { rating, content, updated_at: now });
    } else {
      const place = { app, conversation_id, message_id, end_user_id };
      const times = { created_at: now, updated_at: now };
      records.feedbacks.insert({ id: records.newId(), ...place, rating, content, ...times });
    }
    return { json: { result: "success" } };
  },

  listFeedback({ records }, _input, call) {
    const { page, limit } = pageParams(call, "FeedbackListQuery", 101);
    const feedback = records.feedbacks.select(
      "WHERE app = ? ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?",
      requireApp(call).name,
      limit,
      (page - 1) * limit,
    );
    return { json: { data: feedback.map((row) => fillShape("feedback", row)) } };
  },
} satisfies Partial<AppHandlers<typeof annotations & typeof chats>>;

/** The page that the query asks for; `model` is the server's. */
const pageParams = ({ query }: AppCall, model: string, maxLimit: number) => ({
  page: numberParam(query, model, "page", [1, Infinity]),
  limit: numberParam(query, model, "limit", [1, maxLimit]),
});

const getAnnotation = ({ annotations }: RunStore, call: AppCall, id: string) =>
  annotations.find({ app: requireApp(call).name, id }) ?? raise(appError("annotation missing"));
