import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { exchanges } from "../../lib/recordings.ts";
import { inTurn, json, recorded, runServer, streaming } from "../../lib/run-server.ts";
import type { Route } from "../../lib/run-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const kb = "9c8e0670-8ed0-4983-a635-18e319943575";
const run = [
  "kb",
  "pipeline",
  "run",
  kb,
  "--datasource-type",
  "local_file",
  "--start-node-id",
  "d",
];
const published = [...run, "--datasource-info-list", '[{"reference":"r"}]', "--is-published"];
const draft = [...run, "--datasource-info-list", '[{"reference":"r"}]', "--no-is-published"];
const node = ["kb", "pipeline", "run-node", kb, "d", "--datasource-type", "website_crawl"];

/** The recorded response. */
function answerOf(name: string): Route {
  const found = exchanges.find((exchange) => exchange.name === name);
  const type = Object.entries(found?.response.headers ?? {}).find(([key]) => /type/i.test(key));
  return type?.[1].includes("event-stream")
    ? streaming(recorded(name))
    : json(JSON.parse(recorded(name)), found?.response.status);
}

async function against(
  routes: Readonly<Record<string, Route>>,
  line: readonly string[],
  signal = new AbortController().signal,
) {
  const server = await runServer(routes);
  const env = { KB_BASE_URL: server.baseUrl, KB_KEY: "dataset-x" };
  const ran = await cli(line, { env, signal });
  return { ...ran, posts: server.requests.filter((request) => request.startsWith("POST")).length };
}

const status = (indexing_status: string, error: string | null = null) =>
  json({
    data: [{ id: "d16f", indexing_status, error, completed_segments: 3, total_segments: 3 }],
  });

const start = `POST /v1/datasets/${kb}/pipeline/run`;
const look = `GET /v1/datasets/${kb}/documents/`;

const formats = [[], ["-o", "jsonl"], ["-o", "json"], ["-o", "name"], ["--blocking"]];
const answers = ["run, streaming", "run, blocking"].map((title) => `pipeline-run.json: ${title}`);

test.each([...answers, "1.15/pipeline.json: run, published, streaming"])(
  "a published pipeline returns its documents and waits for them: %s",
  async (name) => {
    for (const flags of formats) {
      const done = {
        [start]: answerOf(name),
        [look]: inTurn(status("waiting"), status("completed")),
      };
      const ran = await against(done, [...published, ...flags]);
      expect([ran.exit, ran.err, ran.posts]).toEqual([0, "indexed 1 document\n", 1]);
      expect(ran.out).toMatch(/\d{20}/);
      const broken = { [start]: answerOf(name), [look]: status("error", "Rate limit reached") };
      const lost = await against(broken, [...published, ...flags]);
      expect([lost.exit, lost.posts], lost.err).toEqual([9, 1]);
      expect(lost.err).toContain("Rate limit reached");
      expect(lost.out).toBe(ran.out);
      const left = await against({ [start]: answerOf(name) }, [
        ...published,
        ...flags,
        "--no-wait",
      ]);
      expect([left.exit, left.out]).toEqual([0, ran.out]);
    }
  },
);

test("a published pipeline without inputs prints a notice, and a wait that times out prints a hint", async () => {
  const none = await against({ [start]: answerOf("pipeline-run.json: run, no data source info") }, [
    ...run,
    "--datasource-info-list",
    "[]",
    "--is-published",
  ]);
  expect([none.exit, none.err]).toEqual([
    0,
    "the pipeline created no documents: the list of inputs is empty\n",
  ]);
  const stop = new AbortController();
  const waits: Record<string, Route> = {
    [start]: answerOf("pipeline-run.json: run, unknown start node"),
    [look]: (socket, before, request) => {
      if (before === 1) stop.abort("SIGINT");
      else status("waiting")(socket, before, request);
    },
  };
  const late = await against(waits, published, stop.signal);
  expect(late.exit, late.err).toBe(130);
  expect(late.err).toContain(
    `hint: the documents were created; wait for them with \`kb doc wait ${kb} --batch 20261121202345946740\`\n`,
  );
});

test("a document without a name is printed as JSON", async () => {
  const routes = { [start]: json({ batch: "b", documents: [{ id: kb, name: {} }] }) };
  const ran = await against(routes, [...published, "--no-wait", "-o", "csv"]);
  expect(ran).toMatchObject({ exit: 0, out: "batch,documents\r\nb,{}\r\n" });
});

test("a draft is followed to its end, by events or in one response", async () => {
  const events = { [start]: answerOf("pipeline-run.json: run of the draft, streaming") };
  expect(await against(events, draft)).toMatchObject({ exit: 0, posts: 1 });
  expect(await against(events, [...draft, "-o", "jsonl"])).toMatchObject({ exit: 0, posts: 1 });
  const whole = { [start]: answerOf("pipeline-run.json: run of the draft, blocking") };
  expect(await against(whole, [...draft, "--jq", ".data.status"])).toMatchObject({
    exit: 0,
    out: "succeeded\n",
  });
  const failed = recorded("pipeline-run.json: run of the draft, streaming").replace(
    /("event":"workflow_finished".*?"status":)"succeeded"/,
    '$1"failed"',
  );
  expect(await against({ [start]: streaming(failed) }, draft)).toMatchObject({ exit: 9 });
  const cut = recorded("pipeline-run.json: run of the draft, streaming").split("\n\n")[0] ?? "";
  expect(await against({ [start]: streaming(`${cut}\n\n`) }, draft)).toMatchObject({ exit: 13 });
});

test.each([
  ["run the crawler node", 0, ""],
  ["run the crawler node, plugin error", 9, "Rate limit reached for stub-chat"],
  ["run a node that is not there", 9, "Datasource node data not found"],
])(
  "the events of a data source give the exit code, in every format: %s",
  async (title, exit, info) => {
    const routes = {
      [`POST /v1/datasets/${kb}/pipeline/datasource`]: answerOf(`pipeline-run.json: ${title}`),
    };
    for (const flags of [[], ["-o", "jsonl"], ["-o", "json"], ["--jq", "."]]) {
      const ran = await against(routes, [...node, "--is-published", ...flags]);
      expect(ran.exit, `${flags.join(" ")} ${ran.err}`).toBe(exit);
      expect(ran.err).toContain(info);
      expect(ran.out).toContain("datasource_");
    }
  },
);

describe("against the sandbox", async () => {
  const server = await testSandbox({ models: true });
  const folder = await temporaryDirectory();
  const local = ["--datasource-type", "local_file", "--start-node-id", "d"];
  const runFiles = (list: string, ...flags: readonly string[]) =>
    server.cli([
      "kb",
      "pipeline",
      "run",
      "Files",
      ...local,
      "--datasource-info-list",
      list,
      ...flags,
    ]);
  /** Uploads a text and returns the list of data sources that names it. */
  async function uploaded(name: string, text: string): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, text);
    const described = "[{related_id: .id, name}]";
    return (await server.done(["kb", "pipeline", "upload", file, "--jq", described])).out;
  }

  test("an uploaded file is previewed, indexed and found", async () => {
    const list = await uploaded("guide.md", "Lockers are upstairs.\n\nParking is free.");
    const preview = await runFiles(
      list,
      "--no-is-published",
      "--blocking",
      "--jq",
      ".data.outputs",
    );
    expect(JSON.parse(preview.out)).toMatchObject({
      preview: [{ content: "Lockers are upstairs." }, { content: "Parking is free." }],
    });
    expect((await server.done(["kb", "doc", "list", "Files", "-o", "name"])).out).toBe("");
    expect(await runFiles(list, "--is-published", "-o", "jsonl")).toMatchObject({
      exit: 0,
      err: "indexed 1 document\n",
    });
    const search = ["kb", "search", "Files", "free parking", "--top-k", "1"];
    const { out } = await server.done([...search, "--jq", ".[].segment.content"]);
    expect(out).toBe("Parking is free.\n");
  });

  test("the pages of a crawler become documents", async () => {
    const website = ["Website", "--datasource-type", "website_crawl", "--is-published"];
    const inputs = ["--inputs", '{"url":"https://example.com"}'];
    const crawl = ["kb", "pipeline", "run-node", "Website", "d", ...website.slice(1), ...inputs];
    const pages = await server.done([
      ...crawl,
      "--jq",
      'select(.event == "datasource_completed").data',
    ]);
    const index = ["kb", "pipeline", "run", ...website, ...inputs, "--start-node-id", "d"];
    await server.done([...index, "--datasource-info-list", pages.out]);
    const { out } = await server.done(["kb", "doc", "list", "Website", "--columns", "name,status"]);
    expect(out.trim().split("\n").sort()).toEqual(["Page 1\tavailable", "Page 2\tavailable"]);
  });

  test("a document that fails to index ends the run with its reason", async () => {
    const list = await uploaded("bad.md", "One [[embed-error:rate]]");
    const { exit, err } = await runFiles(list, "--is-published");
    expect([exit, err]).toEqual([9, expect.stringContaining("Rate limit reached")]);
  });

  test.each([[[]], [["--blocking"]], [["-o", "jsonl"]]])(
    "a draft that fails names the reason, and no run that could be shown: %j",
    async (flags) => {
      const { exit, err } = await runFiles(
        '[{"related_id":"gone"}]',
        "--no-is-published",
        ...flags,
      );
      expect([exit, err]).toEqual([
        9,
        expect.stringContaining("the pipeline failed: UploadFile not found for file_id=gone"),
      ]);
      expect(err).not.toContain("wf show");
    },
  );
});
