import { atLeast } from "../../../lib/version.ts";
import type { StoredForm } from "../records/runs-store.ts";
import { submission } from "../records/run-events.ts";
import { runEvent } from "../../protocol/fill.ts";
import { renderTemplate } from "../records/templates.ts";
import { type NodeContext, type Outcome, result, type RunContext } from "./node.ts";
import type { NodeOf } from "../definitions/app-definitions.ts";

/** Opens a form and waits for it; once it is submitted or expired, the node ends. */
export function executeHumanInput(context: NodeContext, node: NodeOf<"human-input">): Outcome {
  const { run, version, records, publish } = context;
  const form = records.forms.find({ run_id: run.id, node_id: node.id }) ?? openForm(context, node);
  if (form.status === "waiting") return { status: "paused", form };
  // Since 1.15 no event reports the end of the form (server §15.5).
  const hasEvents = !atLeast(version, "1.15.0");
  if (form.status === "expired") {
    if (hasEvents) publish(runEvent("human_input_form_timeout", { form, node }));
    return result({});
  }
  const submitted = submission(form, node);
  if (hasEvents) publish(runEvent("human_input_form_filled", submitted));
  const inputs = Object.entries(form.inputs ?? {}).map(([name, value]) => [
    name,
    { value_type: "string", value },
  ]);
  return result({
    inputs: Object.fromEntries(inputs),
    outputs: {
      ...form.inputs,
      __action_id: form.action,
      __rendered_content: submitted.rendered,
      __action_value: submitted.action_text,
    },
  });
}

const SECONDS = { hour: 3600, day: 86_400 };

function openForm({ run, records }: RunContext, node: NodeOf<"human-input">): StoredForm {
  return records.forms.insert({
    token: records.newId().replaceAll("-", "").slice(0, 22), // as long as the server's tokens
    app: run.app,
    run_id: run.id,
    node_id: node.id,
    content: renderTemplate(node.form_content, run.progress.variables),
    expires_at: records.now() + node.timeout * SECONDS[node.timeout_unit] * 1000,
    status: "waiting",
  });
}
