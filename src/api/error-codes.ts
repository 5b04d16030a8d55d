import type { FailureKind } from "../errors.ts";
import { commandLine } from "../lib/command-line.ts";
import { own } from "../lib/json.ts";
import type { ErrorBody } from "./error-body.ts";

/** The text for an access token without the ID of one of its applications (server §2.2). */
export const appIdMissing =
  "App ID is required when a resource access token is bound to multiple apps.";

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
  [appIdMissing]: "app_id_missing",
});

/** What an error means, and what to do about it. */
interface Meaning {
  readonly kind: FailureKind;
  readonly hint: string;
  /** Replaces the server's words. */
  readonly text?: string;
}

/** The meanings of these codes. */
const meanings: Readonly<Record<string, Meaning>> = {
  app_not_found: {
    kind: "auth",
    hint: "the application of this key was deleted: use the key of another one",
  },
  app_abnormal_status: {
    kind: "auth",
    hint: "the application is suspended: contact the operator of the server",
  },
  app_api_disabled: {
    kind: "auth",
    hint: "switch on the API of the application in the console",
  },
  workspace_not_found: {
    kind: "auth",
    hint: "the workspace of this key was deleted: use a key of another one",
  },
  workspace_archived: {
    kind: "auth",
    hint: "the owner of the workspace can restore it; or use a key of another one",
  },
  token_invalid: {
    kind: "auth",
    hint: "the key was revoked, or ended with its only knowledge base: sign in again",
  },
  token_for_others: {
    kind: "auth",
    text: "not opened by this key",
    hint: "the scope of a key cannot be changed: use another one",
  },
  app_id_missing: {
    kind: "auth",
    hint: `name the application by its ID: wf … --app ID; or store it: ${commandLine("wf login", [], { app: "NAME=ID" })}`,
  },
  app_suggested_questions_after_answer_disabled: {
    kind: "unsupported",
    hint: "suggested questions are switched off in the features of the application; switch them on in the console and publish it",
  },
  agent_version_not_found_error: {
    kind: "not-found",
    hint: "the agent has no published version: publish it in the console",
  },
  human_input_form_expired: {
    kind: "refused",
    hint: `it can no longer be submitted; ${commandLine("wf logs")} shows the status of its run`,
  },
  message_feedback_rating_required: {
    kind: "refused",
    hint: "this end user has not rated the message, so no rating can be withdrawn; --user names another one",
  },
};

/** The meaning of an error, by its code or the text that stands for it; undefined if only its status tells more. */
export function meaningOf({ code = "", message }: ErrorBody): Meaning | undefined {
  const [, known = code] = codesByText.find(([text]) => message.endsWith(text)) ?? [];
  return own(meanings, known);
}
