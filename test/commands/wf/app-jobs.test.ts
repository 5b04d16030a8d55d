import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { http } from "../../lib/raw-server.ts";
import { inTurn, json, recorded, runServer, sleptTime } from "../../lib/run-server.ts";
import type { Route } from "../../lib/run-server.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

async function against(
  routes: Readonly<Record<string, Route>>,
  line: readonly string[],
  world: World = {},
) {
  const { baseUrl: KB_BASE_URL } = await runServer(routes);
  return cli(line, { ...world, env: { KB_BASE_URL, KB_APP_KEY: "app-x" } });
}

const answer = (title: string) => json(JSON.parse(recorded(`annotation-reply.json: ${title}`)));
const model = "--embedding-provider-name p --embedding-model-name m --score-threshold 0.9".split(
  " ",
);
const reply = ["wf", "annotation", "reply"];

test("--wait waits for the job of wf annotation reply; a failed job exits with 9", async () => {
  const done = {
    "POST /v1/apps/annotation-reply/enable": answer("enable"),
    "GET /v1/apps/annotation-reply/enable": inTurn(
      answer("status at once"),
      answer("status when done"),
    ),
  };
  expect(await against(done, [...reply, "enable", ...model, "--jq", ".job_status"])).toMatchObject({
    exit: 0,
    out: "waiting\n",
  });
  const wait = [...reply, "enable", ...model, "--wait"];
  expect(await against(done, [...wait, "--jq", ".job_status"])).toMatchObject({
    exit: 0,
    out: "completed\n",
  });
  const failed = {
    ...done,
    "GET /v1/apps/annotation-reply/enable": answer("status with an unknown provider"),
  };
  for (const line of [
    wait,
    [...reply, "status", "enable", "5ddc7258-d71c-4946-a8ea-516ed2465dfd"],
  ]) {
    const ran = await against(failed, line);
    expect(ran.exit, ran.err).toBe(9);
    expect(ran.out).toContain("error");
    expect(ran.err).toContain("Provider x/y/z does not exist.");
  }
});

test("--wait exits with 12 after a minute if the job never begins, e.g. when already disabled", async () => {
  const time = sleptTime();
  const ran = await against(
    {
      "POST /v1/apps/annotation-reply/disable": answer("disable again"),
      "GET /v1/apps/annotation-reply/disable": answer("status of disable again"),
    },
    [...reply, "disable", ...model, "--wait"],
    { around: time.around },
  );
  expect(ran.exit, ran.err).toBe(12);
  expect(ran.err).toContain(
    "hint: look again later: `wf annotation reply status disable 82a839c3-7b84-42e3-8aea-ca9d81348938`\n",
  );
  expect(Math.round(time.passed() / 1000)).toBe(60);
});

test("a response without audio is not written and exits with 9", async () => {
  const folder = await temporaryDirectory();
  const path = join(folder, "a.mp3");
  const line = ["wf", "audio", "speak", "--text", "Hi", "--output-file", path];
  const ran = await against({ "POST /v1/text-to-audio": json(null) }, line);
  expect([ran.exit, existsSync(path)], ran.err).toEqual([9, false]);
  expect(ran.err).toContain("expected audio/*, received application/json: null");
  const sound: Route = (socket) =>
    void socket.end(
      http(200, "ID3", { "Content-Type": "audio/mpeg" }).replace(
        "content-type: application/json\r\n",
        "",
      ),
    );
  expect(await against({ "POST /v1/text-to-audio": sound }, line)).toMatchObject({ exit: 0 });
  expect(readFileSync(path, "utf8")).toBe("ID3");
});

test("--variable-name filters on the client, because the filter of the server fails", async () => {
  const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  const rows = ["mood", "name"].map((name) => ({
    id: name,
    name,
    value_type: "string",
    value: "x",
  }));
  const ran = await against(
    {
      [`GET /v1/conversations/${id}/variables?`]: (socket, before, request) =>
        (request.includes("variable_name")
          ? json({ code: "unknown", message: "Internal Server Error", status: 500 }, 500)
          : json({ limit: 100, has_more: false, data: rows }))(socket, before, request),
    },
    ["wf", "conversation", "variables", id, "--variable-name", "mood", "-o", "name"],
  );
  expect([ran.exit, ran.out], ran.err).toEqual([0, "mood\n"]);
});
