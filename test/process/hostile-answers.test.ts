/** Text from a server never controls the terminal; test/long/hostile-responses.test.ts tests all of it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isSafe } from "../lib/fuzzing/holds.ts";
import {
  runOnTerminal,
  exchangeNamed,
  evil,
  runOnPipe,
  poisoned,
  countHostile,
} from "../lib/hostile-responses.ts";
import { bodyText, exchanges, rowFor } from "../lib/recordings.ts";
import type { Exchange } from "../lib/recordings.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { sampled } from "../lib/sampled.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

/** One response of each operation and status. */
const kinds = new Map<string, Exchange>();
for (const exchange of exchanges.filter(({ request }) => request)) {
  const kind = `${rowFor(exchange)?.id ?? "no operation"} ${exchange.response.status}`;
  if (!kinds.has(kind)) kinds.set(kind, exchange);
}

test("no kind of response controls the terminal", async () => {
  let shown = 0;
  const chosen = sampled(30, [...kinds.values()]);
  for (const exchange of chosen) {
    const { out, err } = await runOnTerminal(exchange, true);
    if (countHostile(out + err) > 0) shown++;
  }
  // The others print no text from the server: IDs, or nothing.
  expect([kinds.size, shown > chosen.length / 2]).toEqual([205, true]);
});

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const events = ["wf", "events", id];
const list = ["kb", "list"];

test.each([
  ["streams.json: run, streaming", events, 9],
  ["chat.json: send, streaming", [...events, "--text"], 4],
  ["streams.json: run, streaming", [...events, "-o", "jsonl"], 66],
  ["streams.json: run, streaming", [...events, "-o", "md"], 4],
  ["streams.json: run, streaming", [...events, "--expect", "output x is 1"], 11],
  ["streams.json: run that fails, streaming", events, 11],
  ["streams.json: paused run, snapshot", events, 13],
  ["streams.json: run of iteration_flatten_output_enabled_workflow", events, 11],
  ["chat.json: send, streaming", ["wf", "chat", "send", "hello"], 3],
  ["runs.json: run that fails, blocking", ["wf", "run", "--blocking"], 4],
  ["runs.json: logs", ["wf", "logs", "-o", "json"], 30],
  ["runs.json: run detail", ["wf", "show", id], 3],
  ["knowledge.json: list", ["kb", "api", "GET", "/datasets", "-i"], 104],
  ["knowledge.json: list", ["kb", "doctor", "-o", "json"], 1],
  ["knowledge.json: show", ["kb", "pull", id], 8],
  ["errors.json: no key", [...list, "-vvv"], 9],
  ["errors.json: no key", [...list, "-o", "json"], 2],
  ["knowledge.json: list", [...list, "-o", "csv", "--columns", "name"], 4],
  ["knowledge.json: list", [...list, "--jq", ".[].name"], 4],
  ["knowledge.json: list", [...list, "--jq", ".[].name | error"], 1],
])("%s by %j is shown and does nothing", async (name, line, count) => {
  const { out, err } = await runOnTerminal(exchangeNamed(name), true, line);
  expect(countHostile(out + err)).toBe(count);
});

test("prompts with text of a form do not control the terminal", async () => {
  const line = ["wf", "form", "submit", "token"];
  const ran = await runOnTerminal(exchangeNamed("streams.json: form"), false, line, ["1", "y"]);
  expect(countHostile(ran.asked)).toBeGreaterThan(1);
  // The text of the form and the actions are printed above the prompts.
  expect(countHostile(ran.err)).toBeGreaterThan(1);
});

async function hostileRecording(): Promise<string> {
  const lines = bodyText(exchangeNamed("streams.json: run, streaming"))
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  const path = join(await temporaryDirectory(), "run.jsonl");
  const hostile = lines.map((line) => JSON.stringify(poisoned(JSON.parse(line), true)));
  await writeFile(path, hostile.join("\n"));
  return path;
}

test.each([
  ["timeline", 2],
  ["replay", 6],
] as const)(
  "wf %s of a hostile recording does not control the terminal",
  async (command, count) => {
    const line = ["wf", command, await hostileRecording()];
    const ran = await runOnTerminal(exchangeNamed("runs.json: logs"), true, line);
    expect(countHostile(ran.out)).toBe(count);
  },
);

test("text in a pipe is as the server sent it", async () => {
  const show = exchangeNamed("knowledge.json: show");
  const whole = poisoned(show.response.body, true);
  const json = await runOnPipe(show, ["kb", "show", id, "-o", "json"]);
  expect(JSON.parse(json.out)).toEqual(whole);
  expect((await runOnPipe(show, ["kb", "show", id, "--jq", ".name"])).out).toBe(
    `${(show.response.body as { name: string }).name}${evil}\n`,
  );
  expect((await runOnPipe(show, ["kb", "api", "GET", `/datasets/${id}`])).out).toBe(
    `${JSON.stringify(whole)}\n`,
  );
  const text = await runOnPipe(exchangeNamed("chat.json: send, streaming"), [...events, "--text"]);
  expect(text.out).toContain(evil);
});

test.each([
  ["errors.json: no key", [...list, "-o", "json"], 4],
  ["errors.json: no key", [...list, "-o", "jsonl"], 4],
  ["errors.json: no key", [...list, "--jq", "."], 4],
  ["errors.json: no key", [...list, "-vvv"], 9],
  ["streams.json: run that fails, streaming", [...events, "-o", "jsonl"], 4],
])("stderr is sanitized in a pipe, too: %s by %j", async (name, line, count) => {
  const { err } = await runOnPipe(exchangeNamed(name), line);
  isSafe(err);
  expect(countHostile(err)).toBe(count);
});

test.each(["tsv", "csv", "md"])("report tables as %s are sanitized in a pipe", async (format) => {
  const line = ["wf", "timeline", await hostileRecording(), "-o", format];
  const { out } = await runOnPipe(exchangeNamed("runs.json: logs"), line);
  // Line breaks in quoted CSV cells are text.
  isSafe(out.replace(/[\r\t]/g, "\n"));
  expect(countHostile(out)).toBe(2);
});

test("completion does not offer names that could control the terminal", async () => {
  const names = ["good", "a\u202eb", "x\nrm -rf", "c\u001b[2J", "\u009b2J"];
  const data = names.map((name, index) => ({ id: `${id.slice(0, -1)}${index}`, name }));
  const { baseUrl } = await rawServer([
    (socket) => socket.end(http(200, JSON.stringify({ data, has_more: false, total: 5 }))),
  ]);
  const ran = await cli(["kb", "__complete", "--", "show", ""], {
    env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-x" },
    folder: await temporaryDirectory(),
  });
  expect(ran.out.split("\n").map((line) => line.split("\t")[0])).toEqual(["good", ""]);
});
