import {
  joinTexts,
  withNamePath,
  wfOperation,
  path,
  withFields,
  record,
  asText,
} from "./operation.ts";

/** An application; all fields can be empty. */
interface AppInfo {
  readonly name?: string;
  readonly tags: readonly string[];
  readonly mode?: string;
}

/** Inputs and features of an application. */
interface AppParameters {
  readonly suggested_questions: readonly string[];
  /** Each entry is one field under the name of its control: `{"text-input": {…}}`. */
  readonly user_input_form?: readonly Readonly<
    Record<string, { readonly variable: string; readonly required: boolean }>
  >[];
  readonly file_upload: {
    readonly enabled?: boolean;
    readonly image?: { readonly enabled: boolean };
    readonly allowed_file_types?: readonly string[];
  };
}

const inputsOf = ({ user_input_form }: AppParameters) =>
  joinTexts(
    user_input_form
      ?.flatMap((entry) => Object.entries(entry))
      .map(
        ([control, { variable, required }]) =>
          `${asText(variable)} (${control}${required === true ? ", required" : ""})`,
      ),
  );

export const getAppInfo = wfOperation({
  id: "getChatAppInfo",
  action: "get application info",
  route: "GET /info",
  params: {},
  returns: withFields(
    { "name?": "text", "mode?": "text" },
    withNamePath(
      "name",
      record<AppInfo>("name mode description author_name", ["tags", ({ tags }) => joinTexts(tags)]),
    ),
  ),
});

export const getAppMeta = wfOperation({
  id: "getChatAppMeta",
  command: "wf app meta",
  action: "get tool icons",
  summary: "Show the icons of the application's tools",
  route: "GET /meta",
  params: {},
  returns: record("tool_icons"),
  examples: ["wf app meta", "wf app meta --jq .tool_icons"],
});

export const getAppParameters = wfOperation({
  id: "getChatAppParameters",
  command: "wf app parameters",
  action: "get application parameters",
  meant: ["inputs", "params"],
  summary: "Show the input form and features of the application",
  route: "GET /parameters",
  params: {},
  returns: withFields(
    { "user_input_form?": [{}] },
    record<AppParameters>(
      ["inputs", inputsOf],
      "opening_statement",
      ["suggested_questions", (app) => joinTexts(app.suggested_questions, "; ")],
      "file_upload=file_upload.enabled",
      ["file_types", (app) => joinTexts(app.file_upload.allowed_file_types)],
      "speech_to_text=speech_to_text.enabled text_to_speech=text_to_speech.enabled",
      "annotation_reply=annotation_reply.enabled",
      "... suggested_questions_after_answer=suggested_questions_after_answer.enabled",
      "retriever_resource=retriever_resource.enabled",
      "more_like_this=more_like_this.enabled",
      "sensitive_word_avoidance=sensitive_word_avoidance.enabled system_parameters",
    ),
  ),
  examples: ["wf app parameters", "wf app parameters --jq .user_input_form"],
});

export const getSite = wfOperation({
  id: "getChatWebAppSettings",
  command: "wf app site",
  action: "get web app settings",
  summary: "Show the web app settings of the application",
  route: "GET /site",
  params: {},
  returns: withNamePath(
    "title",
    record(
      "title description default_language icon icon_background chat_color_theme",
      "copyright privacy_policy",
      "... custom_disclaimer input_placeholder icon_type icon_url",
      "chat_color_theme_inverted show_workflow_steps use_icon_as_answer_icon",
    ),
  ),
  examples: ["wf app site", "wf app site --jq .title"],
});

export const getEndUser = wfOperation({
  id: "getEndUserChat",
  command: "wf user show <id>",
  action: "get end user {id}",
  summary: "Show an end user of the application",
  route: "GET /end-users/{end_user_id}",
  params: {
    end_user_id: path.uuid("End user ID, not the name that requests send", { placeholder: "id" }),
  },
  returns: record<{ readonly session_id: string }>(
    "name session_id type is_anonymous created=created_at:time",
    "updated=updated_at:time id:id",
    "... external_user_id app_id tenant_id",
  ),
  since: "1.13.0",
  examples: ["wf user show $USER_ID", "wf user show $USER_ID --jq .session_id"],
});
