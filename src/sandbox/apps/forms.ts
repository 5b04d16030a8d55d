import { isObject } from "../../lib/json.ts";
import * as operations from "../../operations/forms.ts";
import { notFoundAt } from "../http/errors.ts";
import { bindHandlers, type Handlers, HttpError } from "../http/handler.ts";
import { toSeconds } from "../storage/ids.ts";
import type { StoredForm, RunStore } from "../storage/runs-store.ts";
import { humanInputNode } from "./run-events.ts";
import { type AppContext, requireUser } from "./context.ts";

/** Forms of paused runs. */
const handlers: Handlers<typeof operations, AppContext> = {
  getForm({ records }, { form_token }, call) {
    const { form, node } = getOpenForm(records, call.app, form_token);
    return {
      json: {
        form_content: form.content,
        inputs: node.inputs,
        resolved_default_values: {},
        user_actions: node.actions,
        expiration_time: toSeconds(form.expires_at),
      },
    };
  },

  submitForm({ records, engine }, input, call) {
    const user = requireUser(input);
    const { form_token, action } = input;
    const { form, node } = getOpenForm(records, call.app, form_token);
    if (!node.actions.some(({ id }) => id === action)) {
      throw new HttpError(400, "invalid_form_data", `Invalid action: ${action}`);
    }
    const inputs = isObject(input.inputs) ? input.inputs : {};
    const missing = node.inputs
      .map((field) => field.output_variable_name)
      .filter((name) => !(name in inputs));
    if (missing.length > 0) {
      const text = `Missing required inputs: ${missing.join(", ")}`;
      throw new HttpError(400, "invalid_form_data", text);
    }
    records.endUser(form.app, user);
    records.submitForm(form.token, action, inputs);
    const run = records.run(form.app, form.run_id);
    if (run) engine.resume(run, call.version);
    return { json: {} };
  },
};

export const formHandlers = bindHandlers(operations, handlers);

/** Returns the open form with that token, and its node; throws HttpError (server §14). */
function getOpenForm(records: RunStore, app: string | undefined, token: string) {
  const form = records.form(app ?? "", token);
  const node = form && humanInputNode(form.app, form.node_id);
  if (!form || !node) {
    throw notFoundAt("Form not found.", `/v1/form/human_input/${token}`, [
      "/v1/form/human_input/<string:form_token>",
    ]);
  }
  if (form.status === "submitted") {
    throw formClosed(form, "submitted", "already been submitted by another user");
  }
  if (form.status === "expired") throw formClosed(form, "expired", "expired");
  return { form, node };
}

const formClosed = (form: StoredForm, state: string, text: string) =>
  new HttpError(412, `human_input_form_${state}`, `This form has ${text}, form_id=${form.id}`);
