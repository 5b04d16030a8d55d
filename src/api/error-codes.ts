import type { FailureKind } from "../errors.ts";
import { commandLine } from "../lib/command-line.ts";
import { own } from "../lib/json.ts";
import type { ErrorBody } from "./error-body.ts";

/** Ends of texts, and the codes that they have on other servers, or here alone (server §3.1). */
const codesByText = Object.entries({
  "The app no longer exists.": "app_not_found",
  "The app's status is abnormal.": "app_abnormal_status",
  "The app's API service has been disabled.": "app_api_disabled",
  "Tenant does not exist.": "workspace_not_found",
  "The workspace's status is archived.": "workspace_archived",
  "Suggested Questions Is Disabled.": "app_suggested_questions_after_answer_disabled",
  "rating cannot be None when feedback not exists": "message_feedback_rating_required",
  "Resource access token is invalid.": "token_invalid",
  " not allowed to access this knowledge base.": "token_for_others",
  " not allowed to access this app.": "token_for_others",
  "App ID is required when a resource access token is bound to multiple apps.": "app_id_missing",
});

/** The hints of these codes, by the kind of failure. */
const hints: Readonly<Partial<Record<FailureKind, Readonly<Record<string, string>>>>> = {
  auth: {
    app_not_found: "the application of this key was deleted: use the key of another one",
    app_abnormal_status: "the application is suspended: contact the operator of the server",
    app_api_disabled: "switch on the API of the application in the console",
    workspace_not_found: "the workspace of this key was deleted: use a key of another one",
    workspace_archived: "the owner of the workspace can restore it; or use a key of another one",
    token_invalid: "the key was revoked, or ended with its only knowledge base: sign in again",
    token_for_others: "the scope of a key cannot be changed: use another one",
    app_id_missing: `name the application by its ID: wf … --app ID; or store it: ${commandLine("wf login", [], { app: "NAME=ID" })}`,
  },
  unsupported: {
    app_suggested_questions_after_answer_disabled:
      "suggested questions are switched off in the features of the application; switch them on in the console and publish it",
  },
  "not-found": {
    agent_version_not_found_error: "the agent has no published version: publish it in the console",
  },
  refused: {
    human_input_form_expired: `it can no longer be submitted; ${commandLine("wf logs")} shows the status of its run`,
    message_feedback_rating_required:
      "this end user has not rated the message, so no rating can be withdrawn; --user names another one",
  },
};

/** Kind and hint of an error, by its code or the text that stands for it; undefined if only its status tells more. */
export function meaningOf({ code = "", message }: ErrorBody) {
  const [, known = code] = codesByText.find(([text]) => message.endsWith(text)) ?? [];
  const kind = (Object.keys(hints) as FailureKind[]).find((each) => own(hints[each], known));
  const text = known === "token_for_others" ? { text: "not opened by this key" } : {};
  return kind && { kind, ...text, hint: own(hints[kind], known) };
}
