import { once } from "node:events";
import { createReadStream, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { afterFile } from "../lib/cleanup.ts";
import { pipelineDirectory, runPipeline } from "../lib/pipeline.ts";
import { recipe } from "../lib/recipes.ts";

const place = await pipelineDirectory({ curl: 'PATH="${PATH#*:}" exec curl "$@"' });
const requests: string[] = [];
const notes: string[] = [];

/** GitLab: the artifact of the default branch, as soon as there is one, and the notes. */
const server = createServer((request, response) => {
  const { method, url = "", headers } = request;
  requests.push(`${method} ${url} ${headers.authorization}`);
  const artifact = join(place, "artifact.json");
  if (method === "POST")
    void text(request).then((body) => {
      notes.push(new URLSearchParams(body).get("body") ?? "");
      response.writeHead(201).end("{}");
    });
  else if (existsSync(artifact)) createReadStream(artifact).pipe(response);
  else response.writeHead(404).end();
});

test("the GitLab recipe compares a merge request with main, and comments", async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(() => server.close());
  const { port } = server.address() as { readonly port: number };
  const jobs = parse(recipe("gitlab-answers.yml")) as Readonly<
    Record<string, { readonly script: readonly string[] }>
  >;
  const scriptOf = (job: string) => (jobs[job]?.script ?? []).join("\n");
  const { exits, out } = await runPipeline(
    place,
    [
      { script: scriptOf("merge-request"), key: "app-answers" },
      { script: `${scriptOf("main")}\nmv main.json artifact.json`, key: "app-answers" },
      { script: scriptOf("merge-request"), key: "app-chat" },
    ],
    {
      CI_API_V4_URL: `http://127.0.0.1:${port}/api/v4`,
      CI_PROJECT_ID: "3",
      CI_MERGE_REQUEST_IID: "7",
      CI_DEFAULT_BRANCH: "main",
      ANSWERS_TOKEN: "glpat-secret",
    },
  );
  expect(exits, out).toEqual([0, 0, 14]);
  const base = "/api/v4/projects/3";
  const seen = [
    `GET ${base}/jobs/artifacts/main/raw/main.json?job=main Bearer glpat-secret`,
    `POST ${base}/merge_requests/7/notes Bearer glpat-secret`,
  ];
  expect(requests).toEqual([...seen, ...seen]);
  expect(notes[0]).toMatch(/days of leave`? \| 10\/10 /);
  expect(notes[1]).toMatch(/days of leave`? \| 0\/10 .*\| broken \|/);
  expect(await readFile(join(place, "curl.txt"), "utf8")).not.toContain("glpat");
});
