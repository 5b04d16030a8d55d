import { expect, test } from "vitest";
import { cli } from "../../lib/support.ts";
import { eventsText, json, pinging, runServer } from "../../lib/run-server.ts";

const id = "11111111-1111-4111-8111-111111111111";
const event = (kind: string, data: object) => ({
  event: kind,
  task_id: "22222222-2222-4222-8222-222222222222",
  workflow_run_id: id,
  data,
});
const form = { form_id: "f", node_id: "n", node_title: "Approve", form_token: null, actions: null };
const paused = (reasons: unknown, ...forms: readonly object[]) =>
  eventsText(
    event("workflow_started", { id, created_at: 1, reason: "initial" }),
    ...forms.map((each) => event("human_input_required", each)),
    event("workflow_paused", { workflow_run_id: id, paused_nodes: ["n"], reasons, created_at: 1 }),
  );

const here = "its form has no token, so it cannot be answered here";
const look = `see what it waits for: \`wf events ${id}\``;
const submit = "answer it with `wf form submit t --action ACTION`";

test.each([
  ["in its event", paused([], form), here],
  ["in its event, without reasons", paused(null, form), here],
  ["in the reasons", paused([{ TYPE: "human_input_required", ...form }]), here],
  ["empty in its event", paused([], { ...form, form_token: "" }), here],
  ["of another type", paused([], { ...form, form_token: 7 }), here],
  ["of one of two forms", paused([form], form, { ...form, form_token: "t" }), submit],
  ["unknown", paused([]), look],
])("a paused run whose form has no token, %s", async (_, stream, words) => {
  const record = { id, status: "paused", inputs: "{}", outputs: {}, error: null };
  const { baseUrl } = await runServer({
    "POST /v1/workflows/run": pinging(stream),
    [`GET /v1/workflow/${id}/events`]: pinging(stream),
    [`GET /v1/workflows/run/${id}`]: json(record),
  });
  const env = { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" };
  for (const line of [["run"], ["events", id], ["show", id]]) {
    const ran = await cli(["wf", ...line], { env });
    const isShown = line[0] === "show";
    // It reads the text of the form, and announced forms only.
    if (isShown && (words === submit || !stream.includes('"human_input_required","task_id"')))
      continue;
    expect(ran.exit, ran.err).toBe(isShown ? 0 : 8);
    expect(ran.err).toContain(words);
    if (words === here) expect(ran.err).not.toContain("`wf events");
  }
});
