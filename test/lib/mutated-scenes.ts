/** Commands with the responses they got, from recordings and from the sandbox. */
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { methodAndPath, retryOf } from "../../src/operations/operation.ts";
import type { AnyOperation } from "../../src/operations/operation.ts";
import { write } from "./directory.ts";
import type { Answered } from "./answering.ts";
import type { Scene } from "./mutated-responses.ts";
import { answered, bodyText, headersOf, rowFor } from "./recordings.ts";
import type { Exchange } from "./recordings.ts";
import type { RawHost } from "../../src/host/host.ts";
import { answering } from "./answering.ts";
import { testSandbox } from "./sandbox.ts";
import { temporaryDirectory } from "./support.ts";
import { wireFixtures } from "./wire-fixtures.ts";

const folder = await temporaryDirectory();
const file = join(folder, "a.md");
await writeFile(file, "text");

const answerOf = (exchange: Exchange, request: string): Answered => ({
  request,
  status: exchange.response.status,
  headers: {
    "content-type": headersOf(exchange)["content-type"] ?? "application/json",
    "x-version": headersOf(exchange)["x-version"] ?? "1.14.2",
  },
  body: Buffer.from(bodyText(exchange)),
});

/** Fields in the response to a write that identify the written object. */
function vitalOf({ returns }: AnyOperation): string[] {
  if (!("columns" in returns) || returns.columns.length === 0) return [];
  const { fields: reads, namePath: name = "id" } = returns;
  if (reads === undefined) return ["rows" in returns ? `${returns.rows}.0.${name}` : name];
  return Object.entries(reads).flatMap(([field, kind]) =>
    kind === "id" || kind === "=success" ? [field] : [],
  );
}

const routeOf = (row: AnyOperation, path: string) => `${methodAndPath(row)[0]} ${path}`;

/** Operations that return one JSON value with --blocking. */
const inOnePiece = new Set([
  "sendChatMessage",
  "createCompletionMessage",
  "executeWorkflow",
  "runWorkflowById",
  "runPipeline",
]);

const isStream = (exchange: Exchange) =>
  headersOf(exchange)["content-type"]?.includes("event-stream") === true;

/** Flags that print a recorded response in a format; events cannot be printed as one JSON value. */
function flagsFor(exchange: Exchange, id: string, format: string | undefined): string[] {
  const stream = isStream(exchange);
  const blocking = inOnePiece.has(id) && !stream ? ["--blocking"] : [];
  if (format === undefined) return blocking;
  return [...blocking, "-o", stream && format === "json" ? "jsonl" : format];
}

/** Responses to other requests of a command: an application that takes `query`, and recorded ones. */
function besides(request: string): Answered | undefined {
  const [method = "", path = ""] = request.replace(/\?.*/, "").split(" ");
  const form = { user_input_form: [{ "text-input": { variable: "query", required: false } }] };
  if (path === "/v1/parameters") return json(request, form);
  const found = (method === "GET" ? answered : []).find((exchange) => {
    const row = rowFor(exchange);
    if (!row || isStream(exchange)) return false;
    const [verb, template] = methodAndPath(row);
    return (
      verb === method && new RegExp(`^/v1${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path)
    );
  });
  return found && answerOf(found, request);
}

const json = (request: string, body: unknown): Answered => ({
  request,
  status: 200,
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify(body)),
});

/** Each recorded response with the command of its operation, in one format. */
export function recordedScenes(format: string | undefined): Scene[] {
  return answered.flatMap((exchange) => {
    const row = rowFor(exchange);
    const first = wireFixtures.get(row?.id ?? "")?.cases[0];
    if (!row || !first) return [];
    const typed = [...first.line, ...flagsFor(exchange, row.id, format)];
    const argv = typed.map((word) => word.replace(/\{file:.*\}/, file));
    const vital = retryOf(row) === "safe" ? [] : vitalOf(row);
    return [
      {
        name: `${argv.join(" ").slice(0, 40)} ${format ?? ""}: ${exchange.name}`,
        argv: () => argv,
        answers: [answerOf(exchange, routeOf(row, first.request.path))],
        besides,
        vital,
      },
    ];
  });
}

/** Files that commands read. */
const files = {
  "docs/a.md": "# First\n\nsome words about it\n",
  "docs/people/leave.md": "30 days of leave\n",
  "docs/prices.csv": "a,b\n1,2\n",
  "synced/a.md": "first",
  "synced/b/same.md": "same",
  "synced/gone.md": "gone",
  "queries.csv": "query\none\ntwo\n",
  "tags.csv": "name\nred\ngreen\n",
  "questions.jsonl":
    '{"question":"leave","documents":["leave.md"]}\n{"question":"welcome","documents":["welcome.md"],"text":"Welcome"}\n',
  "answer.json": '{"action":"approve","inputs":{"comment":"fine"}}',
  "expect.yml": "name: Short\nchecks:\n  - run succeeded\n",
  "kb.yml":
    "knowledge_base: Handbook\ndescription: made\ntags: [published, people]\nmetadata:\n  team: string\n  size: number\n",
};

/** Commands that send several requests; each relies on those before it. */
const taskLines: readonly (readonly [words: string, key?: string])[] = [
  ["kb show Handbook"],
  ["kb list --all -o json"],
  ["kb doc list Handbook --all"],
  ["kb doc show Handbook welcome.md"],
  ["kb search Handbook leave"],
  ["kb search Handbook leave -o json"],
  ["kb search Handbook leave --top-k 2"],
  ["kb verify ./backup Handbook"],
  ["kb verify Handbook Synced"],
  ["kb pull Handbook"],
  ["kb plan ./kb.yml"],
  ["kb eval Handbook ./questions.jsonl"],
  ["kb eval Handbook ./questions.jsonl -o json"],
  ["kb doc wait Handbook"],
  ["kb doc wait Handbook welcome.md"],
  ["kb doc download Handbook welcome.md leave.md --dir ./out/down"],
  ["kb doc download Handbook welcome.md leave.md --zip ./out.zip"],
  ["kb export Handbook ./out"],
  ["kb export Handbook ./out"],
  ["kb sync Synced ./synced --dry-run"],
  ["kb sync Synced ./synced --prune --max-delete 100% --dry-run"],
  ["kb doctor"],
  ["kb doctor --capabilities"],
  ["kb api GET /datasets"],
  ["kb __complete -- show Hand"],
  ["kb __complete -- doc show Handbook w"],
  ["kb chunk list Handbook welcome.md"],
  ["kb chunk list Handbook welcome.md --all -o json"],
  ["kb chunk add Handbook welcome.md --content more"],
  ["kb chunk show Handbook welcome.md CHUNK"],
  ["kb chunk update Handbook welcome.md CHUNK --content changed"],
  ["kb chunk delete Handbook welcome.md CHUNK --yes"],
  ["kb tag list"],
  ["kb tag bound Handbook"],
  ["kb tag create fresh"],
  ["kb tag rename fresh fresher"],
  ["kb tag delete fresher --yes"],
  ["kb metadata set Handbook welcome.md --set team=people"],
  ["kb metadata set Handbook welcome.md leave.md --set size=5 -o json"],
  ["kb metadata built-in enable Handbook"],
  ["kb metadata built-in disable Handbook"],
  ["kb tag bind Handbook draft"],
  ["kb tag unbind Handbook draft"],
  ["kb tag create --each ./tags.csv"],
  ["kb doc add Handbook new.md --text hello"],
  ["kb doc update Handbook new.md --text again"],
  ["kb doc replace Handbook leave.md ./docs/people/leave.md"],
  ["kb doc disable Handbook new.md"],
  ["kb doc delete Handbook new.md --yes"],
  ["kb create Fresh --if-not-exists"],
  ["kb create Fresh --if-not-exists"],
  ["kb update Fresh --name Fresher"],
  ["kb delete Fresher --yes"],
  ["kb sync Synced ./synced --prune --max-delete 100% -y"],
  ["kb sync Synced ./synced"],
  ["kb import ./backup --name Imported"],
  ["kb copy Handbook --name Copied"],
  ["kb apply ./kb.yml"],
  ["wf run --input query=hello"],
  ["wf run --input query=hello --text"],
  ["wf run --input query=hello -o json"],
  ["wf run --blocking --input query=hello"],
  ["wf run --detach --input query=hello"],
  ["wf run --input query=hello --record ./out.jsonl --expect ./expect.yml"],
  ["wf run --each ./queries.csv"],
  ["wf run --input query=hello", "app-review"],
  ["wf run --input query=hello --answer ./answer.json", "app-review"],
  ["wf run --blocking --input query=hello", "app-review"],
  ["wf run --input query=hello", "app-broken"],
  ["wf run --input query=hello", "app-loop"],
  ["wf show RUN"],
  ["wf wait RUN"],
  ["wf events RUN"],
  ["wf events RUN --follow -o jsonl"],
  ["wf stop RUN"],
  ["wf timeline PAUSED", "app-review"],
  ["wf timeline PAUSED -o json", "app-review"],
  ["wf diff PAUSED PAUSED", "app-review"],
  ["wf logs --follow -o jsonl"],
  ["wf logs"],
  ["wf logs --all"],
  ["wf logs --all -o json"],
  ["wf stats --since 2d"],
  ["wf stats --since 2d -o json"],
  ["wf logs export ./out/all.jsonl"],
  ["wf logs export ./out/all.csv --with-detail"],
  ["wf form show TOKEN", "app-review"],
  ["wf form submit TOKEN --action approve --input comment=fine", "app-review"],
  ["wf chat send hello", "app-chat"],
  ["wf chat send hello --blocking", "app-chat"],
  ["wf conversation list --all", "app-chat"],
  ["wf doctor"],
  ["wf doctor --capabilities"],
  ["wf app parameters", "app-inputs"],
];

/** Commands that read a recording, `./a.jsonl` or `./b.jsonl`, which is treated as a response. */
const recordingLines: readonly string[] = [
  "wf replay ./a.jsonl",
  "wf replay ./a.jsonl -o json",
  "wf replay ./a.jsonl --expect ./expect.yml",
  "wf timeline ./a.jsonl",
  "wf timeline ./a.jsonl --expand -o json",
  "wf diff ./a.jsonl ./b.jsonl",
  "wf diff ./a.jsonl ./b.jsonl --exit-code -o json",
];

/** Task commands that match `only`, with the responses of the sandbox. */
export async function sandboxScenes(only = /./): Promise<Scene[]> {
  const world = await temporaryDirectory();
  await write(world, files);
  const { cli } = await testSandbox({ speed: 400, indexingDelay: 1 });
  let homes = 0;
  const words = (line: string, out: string) =>
    line.split(" ").map((word) =>
      word
        .replace(/^\.\/out/, out)
        .replace(/^\.\//, `${world}/`)
        .replace("RUN", run)
        .replace("PAUSED", pausedRun)
        .replace("CHUNK", chunk)
        .replace("TOKEN", token),
    );
  const typed = async (
    line: string,
    key = "app-echo",
    around?: (host: RawHost) => RawHost,
    signal?: AbortSignal,
  ) =>
    cli(words(line, join(world, `out-${homes}`)), {
      env: { KB_APP_KEY: key },
      folder: join(world, `home-${homes++}`),
      ...(around && { around }),
      ...(signal && { signal }),
    });
  let run = "";
  let token = "";
  let pausedRun = "";
  let chunk = "";
  for (const line of [
    "kb create Handbook --indexing-technique economy",
    "kb create Synced --indexing-technique economy",
    "kb metadata create Handbook team --type string",
    "kb metadata create Handbook size --type number",
    "kb tag create draft",
    "kb tag create published",
    "kb tag bind Handbook published",
    "kb doc add Handbook welcome.md --text Welcome!",
    "kb doc upload Handbook ./docs/people/leave.md",
    "kb doc wait Handbook",
    "kb metadata set Handbook welcome.md --set team=house",
    "kb sync Synced ./synced",
    "kb export Handbook ./backup",
    "wf run --input query=hello",
  ]) {
    const ran = await typed(line);
    if (ran.exit !== 0) throw new Error(`${line}: ${ran.err}`);
  }
  await write(join(world, "synced"), { "a.md": "changed", "gone.md": null, "new.md": "new" });
  run = (JSON.parse((await typed("wf run --input query=more -o json")).out) as { id: string }).id;
  const paused = await typed("wf run --input query=form -o jsonl", "app-review");
  token = /"form_token": ?"([^"]+)"/.exec(paused.out)?.[1] ?? "";

  pausedRun = /"workflow_run_id": ?"([^"]+)"/.exec(paused.out)?.[1] ?? "";
  const chunks = await typed("kb chunk list Handbook welcome.md -o jsonl");
  chunk = (JSON.parse(chunks.out) as { id: string }).id;

  const scenes: Scene[] = [];
  for (const [line, key] of taskLines.filter(([each]) => only.test(each))) {
    const answers: Answered[] = [];
    const stop = new AbortController();
    const until = line.includes("--follow") && line.startsWith("wf logs") ? 4 : undefined;
    const listening = (host: RawHost) =>
      answering(host, (each) => {
        answers.push(each);
        if (answers.length === until) stop.abort();
        return each.body;
      });
    await typed(line, key, listening, stop.signal);
    scenes.push({
      name: key === undefined ? line : `${line} (${key})`,
      argv: (out) => words(line, out),
      answers,
      world: { env: { KB_APP_KEY: key ?? "app-echo" } },
      ...(until && { until }),
    });
  }
  for (const key of ["app-echo", "app-loop", "app-review"]) {
    const recorded: Answered[] = [];
    for (const name of ["a", "b"]) {
      const path = join(world, `${key}-${name}.jsonl`);
      await cli(["wf", "run", "--input", "query=hello", "--record", path], {
        env: { KB_APP_KEY: key },
      });
      const headers = { "content-type": "application/x-ndjson" };
      const body = await readFile(path);
      recorded.push({ request: `FILE ${name}.jsonl`, status: 200, headers, body });
    }
    for (const line of recordingLines.filter((each) => only.test(each))) {
      const answers = recorded.filter(({ request }) => line.includes(request.slice(5)));
      const argv = (out: string) =>
        line
          .split(" ")
          .map((word) => word.replace(/^\.\/(?=[ab]\.)/, `${dirname(out)}/`))
          .map((word) => word.replace(/^\.\//, `${world}/`));
      scenes.push({ name: `${line} (${key})`, argv, answers });
    }
  }
  return scenes;
}
