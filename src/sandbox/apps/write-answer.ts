import type { Passage } from "../knowledge/retrieval/retrieve.ts";
import { wholeReply } from "../models/language-model.ts";
import type { Completion, Prompt, TextModel, RuleAnswer } from "../models/language-model.ts";
import { ModelError, unlessModelFails } from "../models/marks.ts";
import { addUsage, noUsage, type Usage, zeroUsage } from "../models/tokens.ts";
import type { RunEvent } from "../protocol/fill.ts";
import { account } from "../protocol/ids.ts";
import { spaced } from "../protocol/response.ts";
import { findAnnotation } from "./annotations.ts";
import type { AppContext } from "./context.ts";
import { nameConversation } from "./conversations.ts";
import type { Tool } from "./definitions/app-definitions.ts";
import { citationsOf, citationsOfAnswer, fillShape, messageEvent } from "./records/shapes.ts";
import type { Citation, RunStore, StoredAnnotation, StoredThought } from "./records/runs-store.ts";
import { outputText } from "./records/run-events.ts";
import { messageFiles } from "./inputs.ts";
import type { Turn } from "./start-run.ts";

/** The answer to a message while it is written. */
interface Answer {
  text: string;
  usage: Usage | undefined;
  citations: readonly Citation[];
  readonly thoughts: StoredThought[];
  /** What answered in the place of the model. */
  annotation: StoredAnnotation | undefined;
  /** Why the model failed. */
  error: ModelError | undefined;
}

/** What writes an answer. */
interface Writing {
  readonly turn: Turn;
  readonly answer: Answer;
  readonly model: TextModel;
  /** The answer of rules. */
  readonly drawn: RuleAnswer | undefined;
  /** Aborted when the message is stopped, or its reader has left. */
  readonly signal: AbortSignal;
}

export const newAnswer = (): Answer => ({
  text: "",
  usage: undefined,
  citations: [],
  thoughts: [],
  annotation: undefined,
  error: undefined,
});

/**
 * Sends the pieces of a reply, after `first` when the model does not fail at once, and an empty one
 * at its end. Returns the whole reply; throws ModelError.
 */
async function* sendPieces(
  { turn: { message, version }, answer }: Writing,
  event: "message" | "agent_message",
  reply: AsyncGenerator<string, Completion>,
  first?: () => RunEvent,
): AsyncGenerator<RunEvent, Completion> {
  let piece = await reply.next();
  if (first) yield first();
  for (; !piece.done; piece = await reply.next()) {
    answer.text += piece.value;
    yield messageEvent(event, { message, version, text: piece.value });
  }
  yield messageEvent(event, { message, version, text: "" });
  return piece.value;
}

/** What the model of a basic application is asked: a completion has its text in the instructions. */
function promptOf({ app, config, message }: Turn, passages: readonly Passage[]): Prompt {
  const instructions = config.pre_prompt.replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    outputText(message.inputs[name]),
  );
  const contents = passages.map(({ segment }) => segment.content);
  return app.mode === "completion"
    ? { user: instructions, passages: contents }
    : { system: instructions, user: message.query, passages: contents };
}

/**
 * Writes the answer to a message: the events of its stream. A message that is stopped ends like any
 * other, one whose model fails with `error` (server §18). The answer is stored at the end, so not if
 * its reader has `left` before.
 */
export async function* writeAnswer(
  context: AppContext,
  model: TextModel,
  { turn, answer, drawn }: Pick<Writing, "turn" | "answer" | "drawn">,
  left: AbortSignal,
): AsyncGenerator<RunEvent> {
  const { records, answers } = context;
  const { app, endUser, message, task_id, origin, version } = turn;
  const started = records.now();
  const stop = new AbortController();
  answers.set(task_id, { app: app.name, end_user_id: endUser.id, stop });
  const signal = AbortSignal.any([stop.signal, left]);
  try {
    yield* writeText(context, { turn, answer, model, signal, drawn });
  } catch (error) {
    if (error instanceof ModelError) answer.error = error;
    else if (left.aborted) return;
    else if (stop.signal.aborted) answer.usage = undefined;
    else throw error;
  } finally {
    answers.delete(task_id);
  }
  saveAnswer(context, turn, answer);
  const { error } = answer;
  if (error) return yield messageEvent("error", failureOf(app.mode, error, records));
  const { annotation, usage: used } = answer;
  // One that was stopped has used nothing (server §18).
  const usage = used ?? noUsage((records.now() - started) / 1000);
  const isAgent = app.mode === "agent"; // its end shows neither files nor times (server §18)
  const files = isAgent ? [] : messageFiles(records, message, origin, "sent file");
  const times = isAgent ? { time_to_first_token: undefined, time_to_generate: undefined } : {};
  const metadata = fillShape("answer metadata", {
    ...answer,
    annotation_reply: annotation ? { id: annotation.id, account } : null,
    usage: { ...usage, ...times },
    version,
  });
  yield messageEvent("message_end", { message, metadata, files: files.length > 0 ? files : null });
}

async function* writeText(context: AppContext, writing: Writing): AsyncGenerator<RunEvent> {
  const { turn, answer, model, signal, drawn } = writing;
  const { agent_mode } = turn.config;
  const { app, message } = turn;
  // Completions are not compared with annotations: their text is in the inputs.
  if (app.mode !== "completion") answer.annotation = findAnnotation(context, app, message.query);
  if (answer.annotation) return yield* quoteAnnotation(context, writing, answer.annotation);
  if (app.mode === "agent") return yield* workAsAgent(context.records, writing);
  if (agent_mode?.strategy === "react") return yield* reason(context.records, writing);
  if (agent_mode) return yield* callTools(context.records, writing);
  const passages = passagesFor(context, turn);
  answer.citations = drawn ? citationsOfAnswer(drawn, "api") : citationsOf(passages, "api");
  const reply = model.stream(promptOf(turn, passages), signal);
  answer.usage = (yield* sendPieces(writing, "message", reply)).usage;
}

/** ms before each piece of an annotation, which is one character. */
const CHARACTER_DELAY = 10;

async function* quoteAnnotation(
  { clock, records }: AppContext,
  { turn: { message, version }, answer, signal }: Writing,
  annotation: StoredAnnotation,
): AsyncGenerator<RunEvent> {
  const started = records.now();
  for (const text of annotation.answer) {
    await clock.sleep(CHARACTER_DELAY, signal);
    answer.text += text;
    yield messageEvent("message", { message, version, text });
  }
  answer.usage = { ...zeroUsage, latency: (records.now() - started) / 1000 };
}

/** Searches the knowledge bases of the application; a failure finds nothing (server §17). */
function passagesFor({ retrieve }: AppContext, { config, message }: Turn): readonly Passage[] {
  const { dataset_configs: settings } = config;
  if (!settings) return [];
  const minScore = settings.score_threshold_enabled ? settings.score_threshold : 0;
  const datasets = settings.datasets.datasets.map(({ dataset }) => dataset.id);
  const { dataset_query_variable: variable } = config;
  const query = variable ? outputText(message.inputs[variable]) : message.query;
  const found = unlessModelFails(() => retrieve(datasets, query, settings.top_k)) ?? [];
  // Chunks of economy have no scores (server §6.1).
  return found.filter(
    ({ dataset, score }) => dataset.indexing_technique === "economy" || score >= minScore,
  );
}

function saveAnswer(context: AppContext, { message, names }: Turn, answer: Answer): void {
  const { records } = context;
  const { id, conversation_id, query } = message;
  const { text, citations, thoughts, usage = null, error } = answer;
  records.store.transaction(() => {
    const written = { answer: text.trim(), citations, thoughts, usage };
    const failed = error && ({ status: "error", error: error.message } as const);
    records.messages.update({ id }, failed ?? written);
    records.conversations.update({ id: conversation_id }, { updated_at: records.now() });
    if (names && !error) nameConversation(context, conversation_id, query);
  });
}

/** Calls tools until the model answers without one: a round for each call (server §18). */
async function* callTools(records: RunStore, writing: Writing): AsyncGenerator<RunEvent> {
  const { answer } = writing;
  let observation: string | undefined;
  for (;;) {
    const thought = newThought(records, writing);
    const round = startRound(writing, observation);
    const reply = yield* sendPieces(writing, "agent_message", round, () => thoughtEvent(thought));
    const tool = endRound(writing, reply);
    thought.thought = thought.answer = reply.text;
    if (tool) noteCall(thought, tool, spaced({ [tool.tool_name]: {} }));
    yield thoughtEvent(thought);
    if (!tool) return;
    observation = tool.sandbox.output;
    thought.observation = spaced({ [tool.tool_name]: observation });
    yield thoughtEvent(thought);
    answer.text += "\n"; // never sent (server §18)
  }
}

const toolsOf = ({ config }: Turn): readonly Tool[] => config.agent_mode?.tools ?? [];

/** Asks the model of an agent, again with what its tool has returned. */
function startRound({ turn, model, signal }: Writing, observation: string | undefined) {
  const tools = toolsOf(turn).map(({ tool_name }) => tool_name);
  const known = observation === undefined ? {} : { observation };
  return model.stream({ ...promptOf(turn, []), tools, ...known }, signal);
}

/** Counts what a round has used, and returns the tool that the model calls. */
function endRound({ turn, answer }: Writing, { tool, usage }: Completion): Tool | undefined {
  answer.usage = answer.usage ? addUsage(answer.usage, usage) : usage;
  return toolsOf(turn).find(({ tool_name }) => tool_name === tool);
}

/** What the model says before its final answer, and how the server sends that: by character. */
const REASON = "I know enough.";
const REASON_PIECES = [" ", ...REASON, "\n", "\n", "", "", ""];

/** Answers at once as ReAct does; its calls of tools were not recorded. */
async function* reason(records: RunStore, writing: Writing): AsyncGenerator<RunEvent> {
  const { turn, answer, model, signal } = writing;
  const thought = newThought(records, writing);
  const { text, usage } = await wholeReply(model.stream(promptOf(turn, []), signal));
  yield thoughtEvent(thought);
  for (const piece of [...REASON_PIECES, text]) {
    yield messageEvent("agent_message", { message: turn.message, text: piece });
  }
  thought.thought = `${REASON}${text}`;
  thought.answer = text;
  thought.tool_input = spaced({ "Final Answer": text });
  answer.text = text;
  answer.usage = usage;
}

/**
 * Answers as a new agent (server §18): pieces show its progress until one `message` has the whole answer.
 * Its words before a call of a tool stay in its thoughts, as do all words of an answer that is stopped.
 */
async function* workAsAgent(records: RunStore, writing: Writing): AsyncGenerator<RunEvent> {
  const { turn, answer } = writing;
  let observation: string | undefined;
  for (;;) {
    const reply = yield* sendProgress(records, writing, startRound(writing, observation));
    const tool = endRound(writing, reply);
    if (!tool) {
      answer.text = saidIn(reply.text).said;
      if (answer.thoughts.at(-1)?.answer) answer.thoughts.pop(); // stored as the answer alone
      yield messageEvent("message", { ...turn, text: answer.text });
      return;
    }
    const call = newThought(records, writing);
    noteCall(call, tool, "{}");
    yield thoughtEvent(call);
    yield thoughtEvent(call);
    observation = call.observation = tool.sandbox.output;
    yield thoughtEvent(call);
  }
}

/** Sends what a new agent thinks and says in a round, as rows of their own. Returns the whole reply. */
async function* sendProgress(
  records: RunStore,
  writing: Writing,
  reply: AsyncGenerator<string, Completion>,
): AsyncGenerator<RunEvent, Completion> {
  const { message } = writing.turn;
  let text = "";
  let thought: StoredThought | undefined;
  let saying: StoredThought | undefined;
  let piece = await reply.next();
  for (; !piece.done; piece = await reply.next()) {
    text += piece.value;
    const { thinking, said } = saidIn(text);
    if (thinking !== (thought?.thought ?? "")) {
      thought ??= newThought(records, writing);
      thought.thought = thinking;
      yield thoughtEvent(thought);
    }
    if (said === "") continue;
    saying ??= newThought(records, writing);
    const more = said.slice(saying.answer.length);
    saying.answer = said;
    yield thoughtEvent(saying);
    yield messageEvent("agent_message", { message, text: more });
  }
  return piece.value;
}

/** What a model thinks and what it says in a reply so far. */
function saidIn(text: string): { readonly thinking: string; readonly said: string } {
  const [, thinking = "", said = ""] =
    /^(?:<think>([\s\S]*?)(?:<\/think>\s*|$))?([\s\S]*)$/.exec(text) ?? [];
  return { thinking: thinking.trim(), said };
}

/** How the stream reports that the model failed; new agents have codes of their own (server §18). */
function failureOf(mode: Turn["app"]["mode"], error: ModelError, { newId }: RunStore) {
  const { kind, code, streamText: text } = error;
  if (mode !== "agent") return { code, status: 400, text };
  if (kind === "rate") return { code: "rate_limit_error", status: 429, text };
  const common = { code: "completion_request_error", status: 400 };
  return { ...common, text: code === common.code ? text : `${text} (agent_run_id=${newId()})` };
}

/** Begins a round. */
function newThought(records: RunStore, { answer: { thoughts } }: Writing): StoredThought {
  const thought: StoredThought = {
    id: records.newId(),
    position: thoughts.length + 1,
    thought: "",
    answer: "",
    tool: "",
    tool_labels: {},
    tool_input: "",
    observation: "",
    created_at: records.now(),
  };
  thoughts.push(thought);
  return thought;
}

function noteCall(thought: StoredThought, { tool_name, sandbox }: Tool, input: string): void {
  thought.tool = tool_name;
  thought.tool_labels = { [tool_name]: sandbox.label };
  thought.tool_input = input;
}

const thoughtEvent = (thought: StoredThought): RunEvent =>
  messageEvent("agent_thought", { thought });
