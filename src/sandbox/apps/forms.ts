import { isObject } from "../../lib/json.ts";
import * as operations from "../../operations/forms.ts";
import { raise } from "../protocol/errors.ts";
import { bindHandlers, type Handlers } from "../protocol/handler.ts";
import type { RunStore } from "./records/runs-store.ts";
import { type AppContext, requireApp, requireUser } from "./context.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import { formNode } from "./records/run-events.ts";
import { fillShape, appError } from "./records/shapes.ts";

/** Forms of paused runs. */
const handlers: Handlers<typeof operations, AppContext> = {
  getForm({ records }, { form_token }, call) {
    return { json: fillShape("form", openForm(records, requireApp(call), form_token)) };
  },

  submitForm({ records, engine }, input, call) {
    const user = requireUser(input);
    const { form_token: token, action } = input;
    const { form, node } = openForm(records, requireApp(call), token);
    if (!node.user_actions.some(({ id }) => id === action)) {
      throw appError("form action invalid", { action });
    }
    const inputs = isObject(input.inputs) ? input.inputs : {};
    const missing = node.inputs
      .map((field) => field.output_variable_name)
      .filter((name) => !(name in inputs));
    if (missing.length > 0) throw appError("form inputs missing", { names: missing.join(", ") });
    records.endUser(form.app, user);
    records.forms.update({ token }, { status: "submitted", action, inputs });
    const run = records.runs.find({ id: form.run_id });
    if (run) engine.resume(run, call.version);
    return { json: {} };
  },
};

export const formHandlers = bindHandlers(operations, handlers);

/** Returns the open form with that token, and its node; throws HttpError (server §14). */
function openForm(records: RunStore, app: AppDefinition, token: string) {
  const form =
    records.forms.find({ app: app.name, token }) ?? raise(appError("form missing", { token }));
  const node = formNode(app, form) ?? raise(appError("form missing", { token }));
  const { status, id } = form;
  if (status !== "waiting") throw appError(`form ${status}`, { id });
  return { form, node };
}
