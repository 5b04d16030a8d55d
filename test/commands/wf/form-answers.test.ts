import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import {
  eventsText,
  inTurn,
  json,
  lost,
  pinging,
  runServer,
  sleptTime,
  streaming,
} from "../../lib/run-server.ts";
import type { Route } from "../../lib/run-server.ts";

const id = "5b1c1b8e-6d0f-4a52-9f1e-2f1f0a3f7c11";
const event = (kind: string, data: object) => ({
  event: kind,
  workflow_run_id: id,
  task_id: "t",
  data,
});

/** A pause with these open forms, each of its own node. */
const pause = (...tokens: readonly string[]) =>
  eventsText(
    event("workflow_paused", {
      status: "paused",
      paused_nodes: tokens,
      reasons: tokens.map((token) => ({
        TYPE: "human_input_required",
        form_id: token,
        form_token: token,
        node_id: `n-${token}`,
        node_title: `Node ${token}`,
        actions: [{ id: "approve" }],
      })),
    }),
  );
const began = eventsText(event("workflow_started", { id, reason: "initial" }));
const resumed = eventsText(event("workflow_started", { id, reason: "resumption", created_at: 2 }));
const done = eventsText(event("workflow_finished", { id, status: "succeeded", outputs: {} }));
const form = json({
  form_content: "ok?",
  inputs: [],
  resolved_default_values: {},
  user_actions: [{ id: "approve", title: "Approve" }],
  expiration_time: null,
});
const submitted = json(
  { code: "human_input_form_submitted", message: "… by another user", status: 412 },
  412,
);

let folder: string;
const file = async (name: string, answer: object) => {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(answer));
  return path;
};
beforeAll(async () => {
  folder = await temporaryDirectory();
});

/** Runs with these answer files; the run pauses for the forms and continues when they are submitted. */
async function answered(
  tokens: readonly string[],
  answers: readonly string[],
  routes: Readonly<Record<string, Route>> = {},
  flags: readonly string[] = [],
) {
  let say = (_text: string) => {};
  const left = [...tokens];
  const server = await runServer({
    "POST /v1/workflows/run": streaming(began + pause(...tokens)),
    "GET /v1/workflow/": (socket, before, request) => {
      pinging(began + pause(...left))(socket, before, request);
      say = (text) => void socket.write(text);
    },
    "GET /v1/form/": form,
    "POST /v1/form/": (socket, before, request) => {
      const token = /human_input\/(\w+)/.exec(request)?.[1] ?? "";
      left.splice(left.indexOf(token), 1);
      json({})(socket, before, request);
      say(resumed + (left.length > 0 ? pause(...left) : done));
    },
    "GET /v1/workflows/run/": (socket, before, request) =>
      json({ id, status: left.length > 0 ? "paused" : "succeeded", outputs: {}, error: null })(
        socket,
        before,
        request,
      ),
    ...routes,
  });
  const argv = ["wf", "run", "--inputs", "{}", ...answers.flatMap((path) => ["--answer", path])];
  const ran = await cli([...argv, ...flags], {
    env: { KB_APP_KEY: "app-x", KB_BASE_URL: server.baseUrl },
    around: sleptTime().around,
  });
  const posts = server.requests.filter((line) => line.startsWith("POST /v1/form"));
  return { ...ran, submits: posts.map((line) => /human_input\/(\w+)/.exec(line)?.[1]) };
}

const approve = () => file("approve.json", { action: "approve" });

describe("a submission whose response was lost", () => {
  /** Resets the first submission. */
  const once =
    (then: Route): Route =>
    (socket, before, request) =>
      before === 0 ? lost(socket, before, request) : then(socket, before, request);

  test("is retried once while the form is open", async () => {
    let finish = () => {};
    const ran = await answered(["a"], [await approve()], {
      "GET /v1/workflow/": (socket, before, request) => {
        pinging(began + pause("a"))(socket, before, request);
        finish = () => void socket.write(resumed + done);
      },
      "POST /v1/form/": once((socket, before, request) => {
        json({})(socket, before, request);
        finish();
      }),
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.submits).toEqual(["a", "a"]);
    expect(ran.err).toContain("the response was lost and form a is still open; retrying");
  });

  test("exits with the network error if it is lost again", async () => {
    const ran = await answered(["a"], [await approve()], { "POST /v1/form/": lost });
    expect(ran.exit).toBe(11);
    expect(ran.submits).toEqual(["a", "a"]);
    expect(ran.err).toContain("the change may have been applied");
    expect(ran.err).toContain(`wf events ${id} --follow`);
  });

  test.each([502, 500])("exits with 1 if the server responds with %i twice", async (status) => {
    const ran = await answered(["a"], [await approve()], {
      "POST /v1/form/": json({ code: "unknown", message: "no", status }, status),
    });
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("the change may have been applied");
    expect(ran.err).not.toContain("waiting for human input");
  });

  test("is detected as submitted", async () => {
    let finish = () => {};
    const ran = await answered(["a"], [await approve()], {
      "GET /v1/workflow/": (socket, before, request) => {
        pinging(began + pause("a"))(socket, before, request);
        finish = () => void socket.write(resumed + done);
      },
      "GET /v1/form/": inTurn(form, submitted),
      "POST /v1/form/": (socket) => {
        finish();
        socket.resetAndDestroy();
      },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.submits).toEqual(["a"]);
  });
});

describe("an answer that does not match its form", () => {
  test.each([[[]], [["-o", "json"]], [["-o", "name"]], [["--only-output", "x"]]])(
    "leaves the run paused and exits with 8, its ID and the command to submit it: %j",
    async (flags) => {
      const bad = await file("bad.json", { action: "nosuch" });
      const ran = await answered(["a"], [bad], {}, flags);
      expect(ran.exit, ran.err).toBe(8);
      expect(ran.submits).toEqual([]);
      expect(ran.err).toContain(id);
      expect(ran.err).toMatch(/action \\?"nosuch\\?" not found in the form \(actions: approve\)/);
      expect(ran.err).toContain("wf form submit a --action approve");
    },
  );

  test("is ambiguous without a node if two forms are open", async () => {
    const ran = await answered(["a", "b"], [await approve()]);
    expect(ran.exit).toBe(8);
    expect(ran.submits).toEqual([]);
    expect(ran.err).toContain(
      'approve.json was not used: 2 forms are open ("Node a", "Node b") and it names no node; add "node" to it',
    );
  });
});

describe("several answers", () => {
  test("are submitted one at a time, each when the run is paused again", async () => {
    const ran = await answered(["a", "b"], [await approve(), await approve()]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.submits).toEqual(["a", "b"]);
    expect(ran.err).not.toContain("may be missing");
  });

  test("go to the nodes they name; other forms stay open with a message", async () => {
    const named = await file("b.json", { action: "approve", node: "Node b" });
    const ran = await answered(["a", "b"], [named]);
    expect(ran.submits).toEqual(["b"]);
    expect(ran.exit, ran.err).toBe(8);
    expect(ran.err).toContain('no --answer matches the form of "Node a"');
    expect(ran.err).toContain("wf form submit a --action approve");
  });
});

test("an already submitted form has a plain message", async () => {
  const server = await runServer({ "GET /v1/form/": submitted });
  const env = { KB_APP_KEY: "app-x", KB_BASE_URL: server.baseUrl };
  for (const argv of [
    ["form", "submit", "tok", "--action", "approve"],
    ["form", "show", "tok"],
  ]) {
    const ran = await cli(["wf", ...argv], { env });
    expect(ran.exit).toBe(5);
    expect(ran.err).toContain("the form is already submitted (412 human_input_form_submitted)");
    expect(ran.err).not.toContain("another user");
    expect(ran.err).toContain("hint: `wf logs`");
  }
});

test("a paused blocking run shows the command that submits its form", async () => {
  const data = { id, status: "paused", reasons: [{ form_token: "tok", actions: [{ id: "yes" }] }] };
  const server = await runServer({
    "POST /v1/workflows/run": json({ task_id: "t", workflow_run_id: id, data }),
  });
  const ran = await cli(["wf", "run", "--inputs", "{}", "--blocking"], {
    env: { KB_APP_KEY: "app-x", KB_BASE_URL: server.baseUrl },
  });
  expect(ran.exit, ran.err).toBe(8);
  expect(ran.err).toContain("hint: answer it with `wf form submit tok --action yes`");
});
