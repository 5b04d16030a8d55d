import { commandLine } from "../lib/command-line.ts";
import { formText, inputText } from "../lib/form-text.ts";
import { valueAt } from "../lib/json.ts";
import { body, joinTexts, wfOperation, path, withFields, record, asText } from "./operation.ts";
import { required, userInBody } from "./shared.ts";

/** A field to fill in while a run is paused. */
export interface FormInput {
  readonly type: "paragraph" | "select" | "file" | "file-list";
  /** Key of the value in `inputs` of the submitted form. */
  readonly output_variable_name: string;
  readonly default?: { readonly value: string } | null;
  readonly option_source?: {
    readonly type: "constant" | "variable";
    readonly value: readonly string[];
  };
  readonly allowed_file_types?: readonly string[];
  readonly allowed_file_extensions?: readonly string[];
  readonly allowed_file_upload_methods?: readonly string[];
  readonly number_limits?: number;
}

/**
 * The form of a paused run. In `form_content`, variables are filled in and
 * `{{#$output.<name>#}}` is the place of an input (server §14).
 */
export interface HumanInputForm {
  readonly form_content: string;
  readonly inputs: readonly FormInput[];
  readonly resolved_default_values: Readonly<Record<string, string>>;
  /** Buttons; the `id` is the action to submit. */
  readonly user_actions: readonly { readonly id: string; readonly title: string }[];
  /** Unix seconds. */
  readonly expiration_time: number | null;
}

const form_token = path.text("Form token from the event of the pause", {
  placeholder: "token",
});

export const getForm = wfOperation({
  id: "getChatflowHumanInputForm",
  action: "get form",
  route: "GET /form/human_input/{form_token}",
  params: { form_token },
  knownErrors: [
    {
      message: "Form not found",
      kind: "not-found",
      hint: `a form is found only with the key of its application (--app): ${commandLine("wf form list")} shows those of this one`,
    },
  ],
  returns: withFields(
    {
      form_content: "text",
      inputs: [
        {
          type: "text",
          output_variable_name: "id",
          "option_source?": { value: ["text"] },
          "allowed_file_types?": ["text"],
          "allowed_file_extensions?": ["text"],
          "allowed_file_upload_methods?": ["text"],
          "number_limits?": "number",
        },
      ],
      user_actions: [{ id: "id", title: "text" }],
      resolved_default_values: {},
      "expiration_time?": "time",
    },
    record<HumanInputForm>(
      ["form_content", ({ form_content }) => formText(form_content)],
      [
        "inputs",
        ({ inputs, resolved_default_values: defaults }) =>
          joinTexts(
            inputs.map(({ output_variable_name: name, type, default: preset }) =>
              inputText(asText(name), asText(type), valueAt(defaults, name) ?? preset?.value),
            ),
          ),
      ],
      [
        "actions",
        ({ user_actions }) =>
          joinTexts(user_actions.map((a) => `${asText(a.id)} (${asText(a.title)})`)),
      ],
      "expires=expiration_time:time ... resolved_default_values",
    ),
  ),
  since: "1.14.0",
  examples: [
    "wf --app review form show $TOKEN",
    "wf --app review form show $TOKEN --jq '.user_actions[].id'",
  ],
});

export const submitForm = wfOperation({
  id: "submitChatflowHumanInputForm",
  action: "submit form",
  route: "POST /form/human_input/{form_token}",
  params: {
    form_token,
    inputs: body.json("Values of the form's inputs by name", {
      required,
      shape: { kind: "object" },
    }),
    action: body.text("ID of the form's action to take", { required }),
    user: userInBody,
  },
  returns: record<Readonly<Record<string, unknown>>>(),
  since: "1.14.0",
});
