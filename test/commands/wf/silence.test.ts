import { describe, expect, test } from "vitest";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import {
  eventsText,
  inTurn,
  json,
  pinging,
  recorded,
  runServer,
  sleptTime,
  streaming,
} from "../../lib/run-server.ts";
import type { Route } from "../../lib/run-server.ts";

const key = { KB_APP_KEY: "app-x" };

/** A run of version 1.15.0: the client that started it left during a slow node, which silenced the follower. */
const silenced = "9be25355-db8a-4970-a035-2a3a3b304388";
const heard = recorded("1.15/dead-starter.json: followed afterwards, snapshot");
const closing = recorded("1.15/dead-starter.json: events of the run, a new connection");
const over = recorded("1.15/dead-starter.json: run detail meanwhile");
const record = (status: string, more: object = {}) =>
  json({ ...(JSON.parse(over) as object), status, ...more });

/** Follows the run, with time that passes only during sleeps. */
async function followed(events: Route, detail: Route, flags: readonly string[] = []) {
  const server = await runServer({
    "GET /v1/workflow/": events,
    "GET /v1/workflows/run/": detail,
  });
  const time = sleptTime();
  const ran = await cli(["wf", "events", silenced, "--follow", ...flags], {
    env: { ...key, KB_BASE_URL: server.baseUrl },
    around: time.around,
  });
  const asked = (part: string) => server.requests.filter((line) => line.includes(part)).length;
  return {
    ...ran,
    seconds: time.passed() / 1000,
    details: asked("/run/"),
    opened: asked("/events"),
  };
}

const pause = eventsText({
  event: "workflow_paused",
  workflow_run_id: silenced,
  data: {
    status: "paused",
    paused_nodes: ["h"],
    reasons: [
      {
        TYPE: "human_input_required",
        form_id: "f",
        form_token: "tok",
        actions: [{ id: "yes" }],
      },
    ],
  },
});

describe("a stream with nothing but pings", () => {
  test("the end of a run is found within seconds although the follower was silenced", async () => {
    const ran = await followed(
      inTurn(pinging(heard), streaming(closing)),
      inTurn(record("running"), record("succeeded")),
      ["-o", "jsonl"],
    );
    expect(ran.exit, ran.err).toBe(0);
    expect(
      ran.out
        .match(/"event": ?"\w+"/g)
        ?.slice(-2)
        .join(" "),
    ).toMatch(/_gap.*workflow_finished/);
    expect(ran.err).toMatch(/1 reconnect, 1 gap/);
    expect(ran.seconds).toBeLessThan(12);
    expect(ran.opened).toBe(2);
  });

  test("waits for a node of an hour with few requests, and keeps the stream", async () => {
    const time = sleptTime();
    let finish = () => {};
    const server = await runServer({
      "GET /v1/workflow/": (socket, before, request) => {
        pinging(heard)(socket, before, request);
        finish = () => void socket.write(closing);
      },
      "GET /v1/workflows/run/": (socket, before, request) => {
        if (time.passed() > 3_600_000) finish();
        record("running")(socket, before, request);
      },
    });
    const ran = await cli(["wf", "events", silenced, "--follow"], {
      env: { ...key, KB_BASE_URL: server.baseUrl },
      around: time.around,
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(server.requests.filter((line) => line.includes("/events"))).toHaveLength(1);
    expect(server.requests.length).toBeLessThan(260);
    expect(ran.err).toMatch(/no events from run \S+ for \d+s; its status is running\n/);
    expect(ran.err.match(/no events from run/g)).toHaveLength(3); // 1 min, 5 min, 25 min
    expect(ran.err).toMatch(/^\d+ events in /m);
  });

  test("an unannounced pause is found, with its form", async () => {
    const ran = await followed(inTurn(pinging(heard), streaming(heard + pause)), record("paused"));
    expect(ran.exit, ran.err).toBe(8);
    expect(ran.err).toContain("wf form submit tok --action yes");
    expect(ran.seconds).toBeLessThan(12);
  });

  test("the stream of a paused run is kept with --through-pauses", async () => {
    const time = sleptTime();
    let finish = () => {};
    const server = await runServer({
      "GET /v1/workflow/": (socket, before, request) => {
        pinging(heard + pause)(socket, before, request);
        finish = () => void socket.write(closing);
      },
      "GET /v1/workflows/run/": (socket, before, request) => {
        if (time.passed() > 600_000) finish();
        record("paused")(socket, before, request);
      },
    });
    const ran = await cli(["wf", "events", silenced, "--follow", "--through-pauses"], {
      env: { ...key, KB_BASE_URL: server.baseUrl },
      around: time.around,
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toMatch(/^\d+ events in /m);
  });

  test("wf run ends with its run although its stream was silenced", async () => {
    const server = await runServer({
      "POST /v1/workflows/run": pinging(heard),
      "GET /v1/workflow/": streaming(closing),
      "GET /v1/workflows/run/": record("succeeded"),
    });
    const time = sleptTime();
    const ran = await cli(["wf", "run", "--inputs", "{}"], {
      env: { ...key, KB_BASE_URL: server.baseUrl },
      around: time.around,
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(time.passed()).toBeLessThan(12_000);
    expect(server.requests.filter((line) => line.startsWith("POST"))).toHaveLength(1);
  });
});

describe("a stopped run whose record shows running forever", () => {
  const stopped = "c9d01976-fcd7-4999-87c2-e3d10e6102e8";
  const live = recorded("runs-model-attach.json: run, stopped in the text");
  const after = recorded("runs-model-attach.json: events of the stopped run");
  const running = recorded("runs-model-attach.json: run detail 30 s after the stop");
  const routes = {
    "POST /v1/workflows/run": streaming(live),
    "GET /v1/workflow/": pinging(after),
    "GET /v1/workflows/run/": json(JSON.parse(running)),
  };

  test("is known to have ended where its end was seen", async () => {
    const server = await runServer(routes);
    const folder = await temporaryDirectory();
    const wf = (...argv: readonly string[]) =>
      cli(["wf", ...argv], {
        folder,
        env: { ...key, KB_BASE_URL: server.baseUrl },
        around: sleptTime().around,
      });
    const run = await wf("run", "--inputs", "{}");
    expect(run.exit, run.err).toBe(9);
    expect(run.err).toContain(`run ${stopped} was stopped: Stopped by user.`);
    const words = `run ${stopped} ended with status stopped, as its event stream reported; its record still shows running`;
    for (const [argv, exit] of [
      [["wait", stopped], 9],
      [["show", stopped], 0],
      [["events", stopped, "--follow"], 9],
      [["events", stopped], 9],
      [["timeline", stopped], 0],
      [["stop", stopped], 0],
    ] as const) {
      const ran = await wf(...argv);
      expect(ran.exit, `${argv.join(" ")}\n${ran.err}`).toBe(exit);
      expect(ran.err, argv.join(" ")).toContain(words);
    }
    expect(server.requests.filter((line) => line.includes("/stop"))).toEqual([]);
  });

  test("wf wait prints a notice after 20 minutes and gives up after an hour", async () => {
    const server = await runServer(routes);
    const wait = (...flags: readonly string[]) => {
      const time = sleptTime(10);
      const env = { ...key, KB_BASE_URL: server.baseUrl };
      return cli(["wf", "wait", stopped, ...flags], { env, around: time.around });
    };
    const ran = await wait();
    expect(ran.exit, ran.err).toBe(13);
    expect(ran.err).toMatch(/the record of run \S+ has shown running for 2\d minutes/);
    expect(ran.err).toContain(
      `gave up on run ${stopped}: its record has shown running for 60 minutes`,
    );
  });

  test("wf stop reports it as stopped only if its stream or record shows it", async () => {
    const end = /data: .*workflow_finished.*\n\n/.exec(live)?.[0] ?? "";
    const stop = async (events: Route, ...records: readonly Route[]) => {
      let say = () => {};
      const server = await runServer({
        "GET /v1/workflow/": (socket, before, request) => {
          events(socket, before, request);
          say = () => void socket.write(end);
        },
        "POST /v1/workflows/tasks/": (socket, before, request) => {
          json({ result: "success" })(socket, before, request);
          if (events !== silent) say();
        },
        "GET /v1/workflows/run/": inTurn(...records),
      });
      const argv = ["wf", "stop", "9f4116f2-e283-4c13-85c9-b076ae76d021", "--run", stopped];
      const env = { ...key, KB_BASE_URL: server.baseUrl };
      const ran = await cli([...argv, "-o", "json"], { folder: await temporaryDirectory(), env });
      return { ...ran, requests: server.requests };
    };
    const silent = pinging(after);
    const says = json(JSON.parse(running));
    const live1 = await stop(pinging(after), says);
    expect(live1.exit, live1.err).toBe(0);
    expect(JSON.parse(live1.out)).toEqual({ result: "stopped", verified: true, status: "stopped" });
    expect(live1.err).toContain("its record still shows running");
    const order = live1.requests.map((line) =>
      line
        .replace(/\/v1\/|\?.*| HTTP.*/g, "")
        .split("/")
        .at(-1),
    );
    expect(order.indexOf("events")).toBeLessThan(order.indexOf("stop")); // it listens before it sends

    const stored = json({ ...(JSON.parse(running) as object), status: "stopped" });
    const byRecord = await stop(silent, says, stored);
    expect(JSON.parse(byRecord.out)).toMatchObject({ status: "stopped", verified: true });

    const neither = await stop(silent, says);
    expect(neither.exit).toBe(1);
    expect(neither.err).toContain("neither the record nor the event stream");
    expect(neither.err).not.toContain("task id");
  });
});
