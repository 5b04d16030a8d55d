import {
  joinTexts,
  withNamePath,
  operation,
  path,
  withFields,
  record,
  asText,
} from "./operation.ts";

/** An application; all fields can be empty. */
export interface AppInfo {
  readonly name?: string;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly mode?: "completion" | "chat" | "agent-chat" | "advanced-chat" | "workflow" | "agent";
  readonly author_name: string | null;
}

/** Icons of the tools of an application, by tool name: a URL or an emoji. */
export interface AppMeta {
  readonly tool_icons: Readonly<
    Record<string, string | { readonly background: string; readonly content: string }>
  >;
}

/** A field of the form that starts a run. */
export interface InputField {
  readonly variable: string;
  readonly label: string;
  readonly required: boolean;
  readonly type?: string;
  readonly default?: unknown;
  /** Options of a select; empty for other controls. */
  readonly options?: readonly string[];
  /** Maximum number of characters, or of files. */
  readonly max_length?: number | null;
  readonly allowed_file_types?: readonly string[];
  readonly allowed_file_extensions?: readonly string[];
  readonly allowed_file_upload_methods?: readonly string[];
}

interface Switch {
  readonly enabled: boolean;
}

/** Inputs and features of an application; sizes are in MB, `workflow_file_upload_limit` is files. */
export interface AppParameters {
  readonly opening_statement: string | null;
  readonly suggested_questions: readonly string[];
  readonly suggested_questions_after_answer: Switch;
  readonly speech_to_text: Switch;
  readonly text_to_speech: Switch & {
    readonly voice?: string;
    readonly language?: string;
    readonly autoPlay?: string;
  };
  readonly retriever_resource: Switch;
  readonly annotation_reply: Switch;
  readonly more_like_this: Switch;
  readonly sensitive_word_avoidance: Switch;
  /** Each entry is one field under the name of its control: `{"text-input": {…}}`. */
  readonly user_input_form?: readonly Readonly<Record<string, InputField>>[];
  readonly file_upload: {
    readonly enabled?: boolean;
    readonly number_limits?: number;
    readonly allowed_file_types?: readonly string[];
    readonly allowed_file_extensions?: readonly string[];
    readonly allowed_file_upload_methods?: readonly string[];
    readonly fileUploadConfig?: Readonly<Record<string, number>>;
    readonly image?: Switch & {
      readonly number_limits: number;
      readonly transfer_methods: readonly string[];
      readonly detail?: string;
    };
  };
  readonly system_parameters: {
    readonly file_size_limit: number;
    readonly image_file_size_limit: number;
    readonly audio_file_size_limit: number;
    readonly video_file_size_limit: number;
    readonly workflow_file_upload_limit: number;
  };
}

/** Web app settings of an application. */
export interface Site {
  readonly title: string;
  readonly description: string | null;
  readonly default_language: string;
  readonly chat_color_theme: string | null;
  readonly chat_color_theme_inverted: boolean;
  readonly icon_type: string | null;
  readonly icon: string | null;
  readonly icon_background: string | null;
  readonly icon_url: string | null;
  readonly copyright: string | null;
  readonly privacy_policy: string | null;
  readonly custom_disclaimer: string | null;
  readonly input_placeholder?: string | null;
  readonly show_workflow_steps: boolean;
  readonly use_icon_as_answer_icon: boolean;
}

/** A user of an application; `session_id` is the value sent as `user`. */
export interface EndUser {
  readonly id: string;
  readonly tenant_id: string;
  readonly app_id: string | null;
  readonly type: string;
  readonly external_user_id: string | null;
  readonly name: string | null;
  readonly is_anonymous: boolean;
  readonly session_id: string;
  /** ISO 8601 in UTC without a zone, unlike other times (server §1). */
  readonly created_at: string;
  readonly updated_at: string;
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

export const getAppInfo = operation({
  id: "getChatAppInfo",
  command: "wf app info",
  action: "get application info",
  summary: "Show the name and mode of the application",
  key: "app",
  route: "GET /info",
  params: {},
  returns: withFields(
    { "name?": "text", "mode?": "text" },
    withNamePath(
      "name",
      record<AppInfo>("name mode description author_name", ["tags", ({ tags }) => joinTexts(tags)]),
    ),
  ),
  examples: ["wf app info", "wf --app chat app info -o json"],
});

export const getAppMeta = operation({
  id: "getChatAppMeta",
  command: "wf app meta",
  action: "get tool icons",
  summary: "Show the icons of the application's tools",
  key: "app",
  route: "GET /meta",
  params: {},
  returns: record<AppMeta>("tool_icons"),
  examples: ["wf app meta", "wf app meta --jq .tool_icons"],
});

export const getAppParameters = operation({
  id: "getChatAppParameters",
  command: "wf app parameters",
  action: "get application parameters",
  summary: "Show the input form and features of the application",
  key: "app",
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
      "… suggested_questions_after_answer=suggested_questions_after_answer.enabled",
      "retriever_resource=retriever_resource.enabled",
      "more_like_this=more_like_this.enabled",
      "sensitive_word_avoidance=sensitive_word_avoidance.enabled system_parameters",
    ),
  ),
  examples: ["wf app parameters", "wf app parameters --jq .user_input_form"],
});

export const getSite = operation({
  id: "getChatWebAppSettings",
  command: "wf app site",
  action: "get web app settings",
  summary: "Show the web app settings of the application",
  key: "app",
  route: "GET /site",
  params: {},
  returns: withNamePath(
    "title",
    record<Site>(
      "title description default_language icon icon_background chat_color_theme",
      "copyright privacy_policy",
      "… custom_disclaimer input_placeholder icon_type icon_url",
      "chat_color_theme_inverted show_workflow_steps use_icon_as_answer_icon",
    ),
  ),
  examples: ["wf app site", "wf app site --jq .title"],
});

export const getEndUser = operation({
  id: "getEndUserChat",
  command: "wf user show <id>",
  action: "get end user {id}",
  summary: "Show an end user of the application",
  key: "app",
  route: "GET /end-users/{end_user_id}",
  params: {
    end_user_id: path.uuid("End user ID, not the name that --user sends", { placeholder: "id" }),
  },
  returns: record<EndUser>(
    "id session_id name type is_anonymous created=created_at:time",
    "updated=updated_at:time",
    "… external_user_id app_id tenant_id",
  ),
  since: "1.13.0",
  examples: ["wf user show $USER_ID", "wf user show $USER_ID --jq .session_id"],
});
