import { getForm, submitForm } from "../../operations/forms.ts";
import type { Engine } from "./engine.ts";
import { type Handler, on, HttpError } from "../http/handler.ts";
import { notFoundAt } from "../http/errors.ts";
import { humanInputNode } from "./run-events.ts";
import { requireUser } from "./runs.ts";
import { isObject } from "../../lib/json.ts";
import { toSeconds } from "../storage/ids.ts";
import { type Form, type RunStore } from "../storage/runs-store.ts";

/** The open form of that token, with its node; throws Refused as recorded (server §14). */
function openForm(records: RunStore, app: string | undefined, token: string) {
  const form = records.form(app ?? "", token);
  const node = form && humanInputNode(form.app, form.nodeId);
  if (!form || !node) {
    throw notFoundAt("Form not found.", `/v1/form/human_input/${token}`, [
      "/v1/form/human_input/<string:form_token>",
    ]);
  }
  if (form.status === "submitted") {
    throw closed(form, "submitted", "already been submitted by another user");
  }
  if (form.status === "expired") throw closed(form, "expired", "expired");
  return { form, node };
}

const closed = (form: Form, state: string, text: string) =>
  new HttpError(412, `human_input_form_${state}`, `This form has ${text}, form_id=${form.id}`);

/** Forms that paused runs wait for. */
export function formHandlers(records: RunStore, engine: Engine): readonly Handler[] {
  return [
    on(getForm, ({ form_token }, call) => {
      const { form, node } = openForm(records, call.app, form_token);
      return {
        json: {
          form_content: form.content,
          inputs: node.inputs,
          resolved_default_values: {},
          user_actions: node.actions,
          expiration_time: toSeconds(form.expiresAt),
        },
      };
    }),

    on(submitForm, (input, call) => {
      const user = requireUser(input);
      const { form_token, action, inputs } = input;
      const { form, node } = openForm(records, call.app, form_token);
      if (!node.actions.some(({ id }) => id === action)) {
        throw new HttpError(400, "invalid_form_data", `Invalid action: ${action}`);
      }
      const sent = isObject(inputs) ? inputs : {};
      const missing = node.inputs
        .map((field) => field.output_variable_name)
        .filter((name) => !(name in sent));
      if (missing.length > 0) {
        const names = missing.join(", ");
        throw new HttpError(400, "invalid_form_data", `Missing required inputs: ${names}`);
      }
      records.endUser(form.app, user);
      records.closeForm(form.token, "submitted", action, sent);
      const run = records.run(form.app, form.runId);
      if (run) engine.resume(run, call.version);
      return { json: {} };
    }),
  ];
}
