import { beforeAll, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox, type TestSandbox } from "../../lib/sandbox.ts";
import { canned } from "../../lib/log-server.ts";
import { cli } from "../../lib/support.ts";

let server: TestSandbox;
beforeAll(async () => {
  server = await testSandbox({ speed: 20 });
});

const withFaults = (...faults: readonly string[]) =>
  server.sandbox.setFaults(faults.map(parseFault));

/** Starts a run of an app and returns its ID. */
async function started(app: string, ...inputs: readonly string[]): Promise<string> {
  withFaults();
  const flags = ["query=x", ...inputs].flatMap((input) => ["--input", input]);
  const ran = await server.cli(["wf", "--app", app, "run", "--detach", ...flags, "-o", "name"]);
  expect(ran.exit, ran.err).toBe(0);
  return ran.out.trim();
}

/** Submits the form of a paused run. */
const submit = (token: string, action: string, comment: string) => {
  const flags = ["--action", action, "--inputs", JSON.stringify({ comment })];
  return server.cli(["wf", "--app", "review", "form", "submit", token, ...flags]);
};

interface Line {
  readonly event: string;
  readonly data?: { readonly title?: string; readonly status?: string };
}

const linesOf = (out: string): Line[] =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

/** Workflow and node events in short form: `node_started Wait`. */
const sequence = (out: string): string[] =>
  linesOf(out)
    .filter(({ event }) => /^(workflow_|node_)/.test(event))
    .map(({ event, data }) => [event, data?.title].filter(Boolean).join(" "));

const wholeSlowRun = [
  "workflow_started",
  "node_started Start",
  "node_finished Start",
  "node_started Wait",
  "node_finished Wait",
  "node_started End",
  "node_finished End",
  "workflow_finished",
];

describe("a followed run prints every workflow and node event once, in order, and exits with 0", () => {
  const faults = [
    "GET /workflow/*/events cut-after=1 times=1",
    "GET /workflow/*/events cut-after=2 times=3",
    "GET /workflow/*/events cut-after=3 times=2",
    "GET /workflow/*/events cut-bytes=100 times=2",
    "GET /workflow/*/events cut-bytes=1500 times=2",
    "GET /workflow/*/events reset times=2",
    "GET /workflow/*/events status=503 times=2",
    "GET /workflow/*/events html=502 times=1",
    "GET /workflows/run/* status=503 times=1",
  ];
  test.each(sampled(3, faults))("%s", async (fault) => {
    const run = await started("slow", "seconds=12");
    withFaults(fault);
    const ran = await server.cli(["wf", "--app", "slow", "events", run, "--follow", "-o", "jsonl"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(sequence(ran.out)).toEqual(wholeSlowRun);
  });

  test("reconnects after silence", async () => {
    const run = await started("slow", "seconds=80");
    withFaults("GET /workflow/*/events silence times=1");
    const ran = await server.cli([
      "wf",
      "--app",
      "slow",
      "events",
      run,
      "--follow",
      "-o",
      "jsonl",
      "--idle-timeout",
      "1s",
    ]);
    expect(ran.exit, ran.err).toBe(0);
    expect(sequence(ran.out)).toEqual(wholeSlowRun);
  });

  test("announces a gap for events that are not replayed", async () => {
    const run = await started("slow", "seconds=12");
    withFaults("GET /workflow/*/events cut-after=7 times=1");
    const ran = await server.cli(["wf", "--app", "slow", "events", run, "--follow", "-o", "jsonl"]);
    expect(ran.exit, ran.err).toBe(0);
    expect(
      linesOf(ran.out)
        .map(({ event }) => event)
        .slice(-2),
    ).toEqual(["_gap", "workflow_finished"]);
  });

  test("announces a gap in text in jsonl and on stderr", async () => {
    const run = await started("slow", "seconds=12");
    withFaults("GET /workflow/*/events cut-after=3 times=1");
    const ran = await server.cli(["wf", "--app", "slow", "events", run, "--follow", "-o", "jsonl"]);
    expect(linesOf(ran.out).filter(({ event }) => event === "_gap")).toHaveLength(1);
    expect(ran.err).toContain("events sent while disconnected, such as text, may be missing here");
  });
});

describe("exit codes", () => {
  test("an ended run prints one event and exits with 0", async () => {
    const run = await started("echo");
    await server.cli(["wf", "events", run, "--follow"]);
    const ran = await server.cli(["wf", "events", run, "-o", "jsonl"]);
    expect(ran.exit).toBe(0);
    expect(sequence(ran.out)).toEqual(["workflow_finished"]);
  });

  test.each([[[]], [["--follow"]]])(
    "a failed run exits with 9 and its error: %j",
    async (flags) => {
      const run = await started("broken");
      const ran = await server.cli(["wf", "--app", "broken", "events", run, ...flags]);
      expect(ran.exit).toBe(9);
      expect(ran.err).toContain("[Errno 111] Connection refused");
    },
  );

  test("partial success exits with 0 and a notice", async () => {
    const ran = await server.cli(["wf", "run", "--input", "query=x"], {
      env: { KB_PROFILE: "", KB_APP_KEY: "app-flaky" },
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain("partial-succeeded");
  });

  test("a lost stream without --follow exits with 13 and shows how to resume", async () => {
    const run = await started("slow", "seconds=20");
    withFaults("GET /workflow/*/events cut-after=3");
    const ran = await server.cli(["wf", "--app", "slow", "events", run]);
    expect(ran.exit).toBe(13);
    expect(ran.err).toContain(`wf events ${run} --follow`);
  });

  test("ten reconnects without a new event exit with 13", async () => {
    const run = await started("slow", "seconds=600");
    withFaults("GET /workflow/*/events cut-after=1");
    const ran = await server.cli(["wf", "--app", "slow", "events", run, "--follow"]);
    expect(ran.exit).toBe(13);
    expect(ran.err.match(/reconnecting/g)).toHaveLength(10);
  });

  test("--timeout exits with 12 and does not stop the run", async () => {
    const run = await started("slow", "seconds=600");
    const ran = await server.cli([
      "wf",
      "--app",
      "slow",
      "events",
      run,
      "--follow",
      "--timeout",
      "0.2s",
    ]);
    expect(ran.exit).toBe(12);
    const detail = await server.cli(["wf", "--app", "slow", "show", run, "--jq", ".status"]);
    expect(detail.out).toBe("running\n");
  });

  test("another end user exits with 3 and the possible causes", async () => {
    const run = await started("slow", "seconds=20");
    const ran = await server.cli([
      "wf",
      "--app",
      "slow",
      "events",
      run,
      "--follow",
      "--user",
      "somebody",
    ]);
    expect(ran.exit).toBe(3);
    expect(ran.err).toContain("--user");
  });

  test("a stopped run exits with 9 as stopped, although its stream reports failed", async () => {
    const first = await server.cli([
      "wf",
      "--app",
      "slow",
      "run",
      "--detach",
      "--input",
      "query=x",
      "--input",
      "seconds=20",
      "-o",
      "json",
    ]);
    const { workflow_run_id, task_id } = JSON.parse(first.out) as Record<string, string>;
    const following = server.cli([
      "wf",
      "--app",
      "slow",
      "events",
      workflow_run_id ?? "",
      "--follow",
    ]);
    const stop = await server.cli([
      "wf",
      "--app",
      "slow",
      "stop",
      task_id ?? "",
      "--run",
      workflow_run_id ?? "",
      "--jq",
      ".result",
    ]);
    expect(stop).toMatchObject({ exit: 0, out: "stopped\n" });
    const ran = await following;
    expect(ran.exit).toBe(9);
    expect(ran.err).toContain("was stopped");
  });

  test("an interrupt exits with 130 and shows how to resume", async () => {
    const run = await started("slow", "seconds=600");
    const controller = new AbortController();
    const ran = await server.cli(["wf", "--app", "slow", "events", run, "--follow"], {
      signal: controller.signal,
      onOutput: (text) => {
        if (text.includes("Wait")) controller.abort("SIGINT");
      },
    });
    expect(ran.exit).toBe(130);
    expect(ran.err).toContain(`wf events ${run} --follow`);
  });
});

describe("a run waiting for human input", () => {
  test("exits with 8 and shows the form and the command to submit it", async () => {
    const run = await started("review");
    const ran = await server.cli(["wf", "--app", "review", "events", run]);
    expect(ran.exit).toBe(8);
    expect(ran.out).toContain("Please review: x");
    const token = /wf form submit (\S+) --action approve /.exec(ran.err)?.[1] ?? "";
    const answered = await submit(token, "approve", "fine");
    expect(answered.exit, answered.err).toBe(0);
    const ended = await server.cli(["wf", "--app", "review", "events", run, "--follow"]);
    expect(ended.exit, ended.err).toBe(0);
    const again = await submit(token, "approve", "fine");
    expect(again.exit).toBe(5);
  });

  test.each([[[]], [["--follow"]]])(
    "exits with 8 instead of waiting for pings, with --no-snapshot %j",
    async (flags) => {
      const run = await started("review");
      await server.cli(["wf", "--app", "review", "wait", run]);
      const argv = ["wf", "--app", "review", "events", run, "--no-snapshot", ...flags];
      const ran = await server.cli(argv);
      expect(ran, ran.err).toMatchObject({ exit: 8, out: "" });
      expect(ran.err).toContain(`hint: see what it waits for: \`wf events ${run} --app review\`\n`);
    },
  );

  test("shows new events only with --no-snapshot, to the end", async () => {
    const run = await started("slow", "seconds=12");
    const argv = ["wf", "--app", "slow", "events", run, "--no-snapshot", "-o", "jsonl"];
    const ran = await server.cli(argv);
    expect(ran.exit, ran.err).toBe(0);
    expect(linesOf(ran.out).at(-1)?.event).toBe("workflow_finished");
  });

  test("is followed through the pause, with the end of the resumed node", async () => {
    const run = await started("review");
    const form = await server.cli([
      "wf",
      "--app",
      "review",
      "events",
      run,
      "-o",
      "jsonl",
      "--jq",
      'select(.event == "human_input_required").data.form_token',
    ]);
    const following = server.cli(
      ["wf", "--app", "review", "events", run, "--through-pauses", "--follow", "-o", "jsonl"],
      {
        onOutput: (text) => {
          if (text.includes('"workflow_paused"')) {
            void submit(form.out.trim(), "reject", "no");
          }
        },
      },
    );
    const ran = await following;
    expect(ran.exit, ran.err).toBe(0);
    expect(sequence(ran.out)).toEqual([
      "workflow_started",
      "node_started Start",
      "node_finished Start",
      "node_started Review",
      "workflow_paused",
      "workflow_started",
      "node_started Review",
      "node_finished Review",
      "node_started End",
      "node_finished End",
      "workflow_finished",
    ]);
  });
});

describe("wf run", () => {
  test("follows the run if its stream is lost, and never starts a second one", async () => {
    withFaults("POST /workflows/run cut-after=3 times=1");
    server.seen.length = 0;
    const ran = await server.cli([
      "wf",
      "--app",
      "slow",
      "run",
      "--input",
      "query=x",
      "--input",
      "seconds=12",
      "-o",
      "jsonl",
    ]);
    expect(ran.exit, ran.err).toBe(0);
    expect(sequence(ran.out)).toEqual(wholeSlowRun);
    expect(server.seen.filter(({ path }) => path === "/v1/workflows/run")).toHaveLength(1);
  });

  test("continues if the server is rate limited while the end is confirmed", async () => {
    withFaults(
      "POST /workflows/run cut-after=4 times=1",
      "GET /workflows/run/* status=429 times=5",
    );
    const argv = ["run", "--input", "query=x", "--input", "seconds=3", "-o", "jsonl"];
    const ran = await server.cli(["wf", "--app", "slow", ...argv]);
    expect(ran.exit, ran.err).toBe(0);
    expect(linesOf(ran.out).at(-1)?.event).toBe("workflow_finished");
  });

  test("parses inputs by the form of the app; rejects unknown and missing ones", async () => {
    withFaults();
    server.seen.length = 0;
    for (const [argv, message] of [
      [["--input", "quer=x"], 'input "quer" not found'],
      [["--input", "query=x", "--input", "seconds=soon"], "is not a number"],
      [[], 'input "query" is required'],
    ] as const) {
      const ran = await server.cli(["wf", "--app", "slow", "run", ...argv]);
      expect(ran.exit).toBe(2);
      expect(ran.err).toContain(message);
    }
    expect(server.seen.filter(({ method }) => method === "POST")).toEqual([]);
    const ran = await server.cli([
      "wf",
      "--app",
      "slow",
      "run",
      "--input",
      "query=x",
      "--input",
      "seconds=0.5",
      "--detach",
      "--dry-run",
    ]);
    expect(ran.out).toContain('"seconds":0.5');
  });

  test("-o json prints the record of the run, --blocking the response", async () => {
    withFaults();
    const streamed = await server.cli(["wf", "run", "--input", "query=héllo 世界", "-o", "json"]);
    expect(JSON.parse(streamed.out)).toMatchObject({
      status: "succeeded",
      outputs: { query: "héllo 世界" },
    });
    const blocking = await server.cli([
      "wf",
      "run",
      "--input",
      "query=x",
      "--blocking",
      "--jq",
      ".data.status",
    ]);
    expect(blocking).toMatchObject({ exit: 0, out: "succeeded\n" });
  });

  test("the key of a chat app is reported instead of an invalid input", async () => {
    const ran = await server.cli(["wf", "--app", "chat", "run", "--input", "query=x"]);
    expect(ran.exit).toBe(6);
    expect(ran.err).toContain("mode advanced-chat");
  });
});

test("a chat reply streams to its end; warns about an unknown conversation", async () => {
  withFaults();
  const ran = await server.cli(["wf", "--app", "chat", "chat", "send", "hello", "-o", "jsonl"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(linesOf(ran.out).at(-1)?.event).toBe("workflow_finished");
  const lost = await server.cli([
    "wf",
    "--app",
    "chat",
    "chat",
    "send",
    "hello",
    "-o",
    "json",
    "--conversation-id",
    "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e",
  ]);
  expect(lost.err).toContain("a new one was started");
});

describe("a chat reply whose stream ends early", () => {
  const run = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  const begun = { event: "workflow_started", workflow_run_id: run, data: { id: run } };
  const half = { event: "message", answer: "half an ans" };
  const finished = (data: object) => ({ event: "workflow_finished", workflow_run_id: run, data });

  test.each<[string, readonly object[], number, string]>([
    ["failed", [begun, finished({ status: "failed", error: "Node blew up" })], 9, "Node blew up"],
    ["stopped", [begun, finished({ status: "stopped" })], 9, "was stopped"],
    ["partly", [begun, half, finished({ status: "partial-succeeded" })], 0, "partial-succeeded"],
    ["lost, without a run", [half], 13, "lost the event stream before the end of the reply"],
    ["complete, without a run", [half, { event: "message_end" }], 0, ""],
  ])("%s", async (_, events, exit, message) => {
    const { env } = await canned((_url, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
    });
    const ran = await cli(["wf", "chat", "send", "hello", "-o", "jsonl"], { env });
    expect(ran.exit, ran.err).toBe(exit);
    expect(ran.err).toContain(message);
    expect(linesOf(ran.out)).toEqual(events);
  });

  test("a pause shows the command to submit its form, streaming and blocking", async () => {
    for (const more of [[], ["--blocking"]]) {
      const ran = await server.cli(["wf", "chat", "send", "hi", ...more], {
        env: { KB_APP_KEY: "app-chat-review", KB_PROFILE: "" },
      });
      expect(ran.exit, ran.err).toBe(8);
      expect(ran.err).toMatch(/wf form submit \S+ --action approve/);
    }
  });
});

test("reports the version required if the server lacks the route", async () => {
  withFaults("* * version=1.13.0");
  const ran = await server.cli(["wf", "events", "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e"]);
  expect(ran.exit).toBe(6);
  expect(ran.err).toContain("the server is version 1.13.0; this command needs 1.14.0 or later");
});
