/** The recorded exchanges of the application side, asked of the sandbox again. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Sandbox, startSandbox } from "../../src/sandbox/http/server.ts";
import { manualClock, type ManualClock } from "../lib/manual-clock.ts";
import {
  asked,
  compared,
  differences,
  eventsIn,
  type Exchange,
  type Ids,
  played,
  recording,
  type Replayed,
  resend,
  scenes,
  type Unplayed,
} from "../lib/replay.ts";

/** Applications of the recorder that go by another name here. */
const renamed: Readonly<Record<string, string>> = {
  "iteration-flatten-output-enabled-workflow": "batch",
  "increment-loop-with-break-condition-workflow": "loop",
  slow2: "slow",
  "llm-run": "echo",
  "llm-chat": "chat",
  "llm-chat-plain": "chat",
  "llm-flow-chat": "chat",
};

const codeRunnerDown =
  "recorded while the code runner was down; streams-more has the run that works";

const needsModels = "needs models";

/** Why exchanges are not asked, and how many there are: that number may only fall. */
const unplayed: Unplayed = {
  streams: {
    "run of iteration_flatten_output_enabled_workflow": codeRunnerDown,
    "run of array_iteration_formatting_workflow": codeRunnerDown,
    "run of conditional_hello_branching_workflow": "the sandbox has no application that branches",
  },
  "streams-more": {
    "iteration: array_iteration_formatting_workflow":
      "a second iteration like the one of the application batch",
    "chatflow with iteration and conversation variable":
      "the sandbox has no chatflow that iterates",
  },
  "1.15/dead-listener": {
    "*": "the listener that leaves was not recorded; sandbox-apps.test.ts plays it",
  },
  "1.15/forms": {
    "*": "the sandbox has no form with choices and files",
  },
  "1.15/misc": {
    "*": "the sandbox limits no application and switches none off; the conversation was not recorded",
  },
  "1.15/two-forms-lost": {
    "*": "five trials with the same titles; two-forms has the same events",
  },
  "1.15/uploads": {
    "*": "the bodies of uploads were not recorded",
  },
  agent: {
    "*": needsModels,
  },
  "annotation-reply": {
    "*": needsModels,
    "status of an unknown job": asked,
    "status under the other action": asked,
    "status under any action": asked,
    "enable without a threshold": asked,
  },
  audio: {
    "*": needsModels,
    "speak where it is off": asked,
    "transcribe where it is off": asked,
  },
  "chat-model": {
    "*": needsModels,
    "suggested questions for another user": asked,
    "suggested questions without user": asked,
    "suggested questions of an unknown message": asked,
    "suggested questions where they are off": asked,
    "completion to a chat application": asked,
  },
  "chatflow-model": {
    "*": needsModels,
  },
  completion: {
    "*": needsModels,
  },
  "model-change": {
    "*": needsModels,
  },
  "retry-stop": {
    "*": needsModels,
  },
  "runs-model": {
    "*": needsModels,
  },
  "runs-model-attach": {
    "*": needsModels,
  },
};
const expectedUnplayed = 347;

/** Streams stand where they ended. These began earlier: (file and) title → before which title. */
const beganBefore: Readonly<Record<string, string>> = {
  "slow run, streaming, a node takes 6 s": "detail of a running run",
  "slow run: attach in the middle with snapshot": "slow run: attach in the middle",
  "slow run that is stopped after 2 s": "stop with the run id (no effect expected)",
  "1.15/changed-streams: slow run that is stopped after 2 s": "stop with the task id",
  "run 1, stopped after 1.0 s": "stop 1",
  "run 2, stopped after 1.7 s": "stop 2",
  "run 3, stopped after 2.4 s": "stop 3",
  "run 4, stopped after 3.1 s": "stop 4",
  "run 5, stopped after 3.8 s": "stop 5",
  "followed afterwards, snapshot": "followed afterwards, no flag",
  "form 1: default": "submit 1",
  "form 1: continue": "submit 1",
  "form 1: snapshot+continue": "submit 1",
  "form 2: default": "submit 2",
  "form 2: continue": "submit 2",
  "form 2: snapshot+continue": "submit 2",
  "paused run, snapshot and continue_on_pause, form submitted after 3 s": "submit",
  "paused run, continue_on_pause only, form submitted after 3 s (client leaves after 33 s)":
    "submit",
  "paused chatflow, snapshot and continue_on_pause, form submitted after 2 s": "submit",
};

/** Runs that the recorder made without keeping the exchange: name of what follows → how many. */
const unrecordedRuns: Readonly<Record<string, number>> = {
  "runs: logs": 5,
  "ordering: page 1": 44,
  "1.15/ordering: page 1": 45,
  "1.15/start-refused: logs after it": 3,
};

/** Differences of the applications that 1.15 was recorded with: no default, another output. */
const otherwiseMade =
  /\.inputs\.0\.default: recorded null, here object$|^events\.[56]\.data\.(in|out)puts\.(query: not recorded|result: missing here)$/;

/** Applications that ask for a query here; the recorded ones did not. */
const withQuery = new Set(["loop", "batch"]);

let clock: ManualClock;
let sandbox: Sandbox;
let ids: Ids = new Map();
/** Streams that are open, by title. */
const open = new Map<string, Stream>();

interface Stream {
  readonly answer: Response;
  readonly text: () => string;
  readonly ended: () => boolean;
  readonly leave: () => Promise<void>;
}

const all = scenes.apps.map((files) => ({
  name: files.join(", "),
  version: recording(files[0]).server_version,
  exchanges: files.flatMap((file) => played("apps", file, unplayed)),
}));

const any = all.filter(({ exchanges }) => exchanges.some(({ why }) => why === asked));

describe.each(any)("$name", ({ version, exchanges }) => {
  const wanted = exchanges.filter(({ why }) => why === asked);
  // One server for all of a group, as it was when they were recorded: chat.json asks for an end
  // user of runs.json.
  beforeAll(async () => {
    clock = manualClock();
    ids = new Map();
    open.clear();
    sandbox = await startSandbox({ clock, directory: null, server: version });
  });
  afterAll(() => sandbox.stop());

  test.each(wanted.map((each) => [each.name, each] as const))("%s", async (_, each) => {
    await prepare(each);
    for (const { name, file, exchange } of wanted) {
      const before = beganBefore[name] ?? beganBefore[exchange.title];
      if (file !== each.file || before !== each.exchange.title) continue;
      await begin(exchange);
      await learnEarly(exchange);
    }
    const found = await replayed(each.exchange);
    const newer = each.file.startsWith("1.15/");
    expect(found.filter((difference) => !(newer && otherwiseMade.test(difference)))).toEqual([]);
  });
});

test("no more recorded exchanges are left out than are known", () => {
  const left = all.flatMap(({ exchanges }) => exchanges).filter(({ why }) => why !== asked);
  console.log(`${left.length} recorded exchanges of the application side are not asked`);
  expect(left.length).toBe(expectedUnplayed); // when it has fallen: write the lower number
});

async function replayed(exchange: Exchange): Promise<string[]> {
  const sent = ours(exchange);
  if (exchange.response.chunks === undefined) {
    return compared(sent, await resend(sent, sandbox.origin, ids), ids);
  }
  if (!open.has(exchange.title)) await begin(exchange);
  const answer = await finished(exchange);
  const found = compared(sent, answer, ids);
  return withQuery.has(appIn(exchange)) ? found.filter((text) => !addsQuery.test(text)) : found;
}

const addsQuery = /^events\.\d+\.data\.(inputs|outputs)\.query: not recorded$/;

function appIn({ request }: Exchange): string {
  const [, name = ""] = /^Bearer app-(.+)-KEY$/.exec(request?.headers["Authorization"] ?? "") ?? [];
  return renamed[name] ?? name;
}

/** The exchange with our key, and with a query where the application needs one here. */
function ours(exchange: Exchange): Exchange {
  const { request } = exchange;
  const app = appIn(exchange);
  if (!request) throw new Error(`${exchange.title} has no request`);
  const body = withQuery.has(app)
    ? { inputs: { query: "x" }, response_mode: "streaming", user: "u1" }
    : request.body;
  const headers = { ...request.headers, Authorization: `Bearer app-${app}` };
  return { ...exchange, request: { ...request, headers, ...(body !== undefined && { body }) } };
}

/** Sends the request of a stream and reads on in the background. */
async function begin(exchange: Exchange): Promise<void> {
  const { request } = ours(exchange);
  const path = request?.path.replace(/[0-9a-f-]{36}/, (id) => ids.get(id) ?? id);
  const answer = await fetch(`${sandbox.origin}${path}`, {
    method: request?.method ?? "GET",
    headers: request?.headers ?? {},
    ...(request?.body !== undefined && { body: JSON.stringify(request.body) }),
  });
  if (!answer.body) throw new Error(`${exchange.title} answered nothing`);
  const chunks = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let ended = false;
  const reading = (async () => {
    for (;;) {
      const { value, done } = await chunks.read().catch(() => ({ value: undefined, done: true })); // cut
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    ended = true;
  })();
  open.set(exchange.title, {
    answer,
    text: () => text,
    ended: () => ended,
    async leave() {
      await chunks.cancel();
      await reading;
    },
  });
}

/** Waits for what the recorded stream had at once, so that later requests can name its ids. */
async function learnEarly({ title, response }: Exchange): Promise<void> {
  const early = (response.chunks ?? []).filter(([at]) => at < 0.5).map(([, text]) => text);
  const events = eventsIn(early.join(""));
  const stream = open.get(title);
  while (stream && eventsIn(stream.text()).length < events.length) await clock.advance(0);
  differences(events, eventsIn(stream?.text() ?? "").slice(0, events.length), ids);
}

const blocksIn = (text: string) => text.split("\n\n").length - 1;

/** Lets time pass until the stream has closed, or until as much has come as the recorder read. */
async function finished({ title, response }: Exchange): Promise<Replayed> {
  const left = leftByClient.test(title) || leftByClient.test(response.end ?? "");
  const stream = open.get(title);
  if (!stream) throw new Error(`${title} has not begun`);
  open.delete(title);
  const wanted = response.chunks?.length ?? 0;
  while (!stream.ended() && !(left && blocksIn(stream.text()) >= wanted)) {
    await clock.advance(1000);
  }
  if (!stream.ended()) await stream.leave();
  const text = stream.text();
  if (response.status === 200) {
    expect(blocksIn(text)).toBe(wanted);
    return { status: stream.answer.status, headers: headersOf(stream.answer), text, body: text };
  }
  // A refusal is kept as the only chunk of the stream that did not come.
  expect(JSON.parse(text)).toEqual(JSON.parse(response.chunks?.[0]?.[1] ?? ""));
  return { status: stream.answer.status, headers: headersOf(stream.answer), text, body: text };
}

const leftByClient = /client leaves after|closed by client|TimeoutError/;
const headersOf = (answer: Response) => Object.fromEntries(answer.headers);

async function prepare({ name, exchange }: ReturnType<typeof played>[number]): Promise<void> {
  const [, wait] = / ([\d.]+) s (?:after the other|later)$/.exec(name) ?? [];
  if (wait) await clock.advance(Number(wait) * 1000);
  for (let run = 0; run < (unrecordedRuns[name] ?? 0); run++) {
    await fetch(`${sandbox.origin}/v1/workflows/run`, {
      method: "POST",
      headers: {
        Authorization: `Bearer app-${appIn(exchange)}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify({
        inputs: { query: "x", name: "A", kind: "a" },
        user: `user-${run % 2}`,
      }),
    });
  }
}
