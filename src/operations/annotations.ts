import { body, withNamePath, wfOperation, page, path, query, record } from "./operation.ts";
import { deletes, required } from "./shared.ts";

/** The job that enables or disables annotation replies. */
export interface ReplyJob {
  readonly job_id: string;
  readonly job_status: string;
}

/** A question with the answer that the application gives to it. */
export interface Annotation {
  readonly question: string;
  readonly answer: string;
}

/** Status of that job: waiting, processing, completed or error. */
export interface ReplyStatus extends ReplyJob {
  readonly error_msg: string | null;
}

const annotation_id = path.uuid("Annotation ID", {
  placeholder: "annotation",
  listed: "annotation",
});
const question = body.text("Question", { required });
const answer = body.text("Answer", { required });

const sheet = record("question answer hits=hit_count:count created=created_at:time id:id");

export const listAnnotations = wfOperation({
  id: "getAnnotationList",
  command: "wf annotation list",
  action: "list annotations",
  summary: "List annotations",
  route: "GET /apps/annotations",
  params: { keyword: query.text("Only annotations that contain this text") },
  returns: page<Annotation>(
    "question answer hits=hit_count:count id:id ... created=created_at:time",
  ),
  examples: [
    "wf --app chat annotation list --keyword leave",
    "wf --app chat annotation list --all -o csv",
  ],
});

export const createAnnotation = wfOperation({
  id: "createAnnotation",
  command: "wf annotation create",
  action: "create annotation",
  summary: "Create an annotation: a fixed response to a question",
  route: "POST /apps/annotations",
  params: { question, answer },
  returns: sheet,
  examples: [
    "wf --app chat annotation create --question 'Where is the office?' --answer 'Main street 1.'",
    "wf --app chat annotation create --each annotations.csv",
  ],
});

export const updateAnnotation = wfOperation({
  id: "updateAnnotation",
  command: "wf annotation update <annotation>",
  action: "update annotation {annotation}",
  summary: "Replace the question and answer of an annotation",
  route: "PUT /apps/annotations/{annotation_id}",
  params: { annotation_id, question, answer },
  returns: sheet,
  examples: [
    "wf --app chat annotation update $ANNOTATION --question Where? --answer There.",
    "wf --app chat annotation update --each changes.csv",
  ],
});

export const deleteAnnotation = wfOperation({
  id: "deleteAnnotation",
  command: "wf annotation delete <annotation>",
  action: "delete annotation {annotation}",
  summary: "Delete an annotation",
  route: "DELETE /apps/annotations/{annotation_id}",
  params: { annotation_id },
  ...deletes,
  examples: [
    "wf --app chat annotation delete $ANNOTATION --yes",
    "wf --app chat annotation delete $ANNOTATION --yes --if-exists",
  ],
});

const replySwitch = {
  id: "initialAnnotationReplySettings",
  route: "POST /apps/annotation-reply/{action}",
  params: {
    // Required to disable, too.
    embedding_provider_name: body.text("Provider of the embedding model", { required }),
    embedding_model_name: body.text("Embedding model that compares the questions", { required }),
    score_threshold: body.number("Minimum similarity of questions, up to 1", { required }),
  },
  returns: withNamePath("job_id", record<ReplyJob>("job_id job_status")),
  retry: "idempotent",
} as const;

export const enableAnnotationReply = wfOperation({
  ...replySwitch,
  action: "enable annotation replies",
  done: "Started the job that enables annotation replies",
  fixed: { action: "enable" },
});

export const disableAnnotationReply = wfOperation({
  ...replySwitch,
  action: "disable annotation replies",
  done: "Started the job that disables annotation replies",
  fixed: { action: "disable" },
});

export const getAnnotationReplyStatus = wfOperation({
  id: "getInitialAnnotationReplySettingsStatus",
  action: "get annotation reply status",
  route: "GET /apps/annotation-reply/{action}/status/{job_id}",
  params: {
    action: path.choice(["enable", "disable"], "What the job does"),
    job_id: path.uuid("Job ID from enable or disable", { placeholder: "job" }),
  },
  returns: withNamePath("job_id", record<ReplyStatus>("job_id job_status error_msg")),
});
