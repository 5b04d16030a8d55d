import type { Passage } from "../knowledge/retrieval/retrieve.ts";
import type { TextModel } from "../models/language-model.ts";
import { ModelError, unlessModelFails } from "../models/model-error.ts";
import { zeroUsage } from "../models/tokens.ts";
import type { StoredAnnotation } from "./records/runs-store.ts";
import { findAnnotation } from "./annotation-reply.ts";
import { messageFiles } from "./app-files.ts";
import { citationsOf, citationsOfAnswer } from "./records/citations.ts";
import type { AppContext } from "./context.ts";
import { nameConversation } from "./conversations.ts";
import { messageEvent } from "./records/shapes.ts";
import type { RunEvent } from "../protocol/fill.ts";
import { writeAsAgent } from "./agent.ts";
import {
  type Answer,
  answerMetadata,
  sendPieces,
  type Writing,
  promptOf,
  searchedText,
} from "./answer.ts";
import type { Turn } from "./turn.ts";

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
  const { app, endUser, message, task_id, origin } = turn;
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
  if (error) {
    yield messageEvent("error", { code: error.code, text: error.streamText });
    return;
  }
  const metadata = answerMetadata(answer, (records.now() - started) / 1000);
  const files = messageFiles(records, message, origin, "sent file");
  yield messageEvent("message_end", { message, metadata, files: files.length > 0 ? files : null });
}

async function* writeText(context: AppContext, writing: Writing): AsyncGenerator<RunEvent> {
  const { turn, answer, model, signal, drawn } = writing;
  const { agent_mode } = turn.config;
  const { app, message } = turn;
  // Completions are not compared with annotations: their text is in the inputs.
  if (app.mode !== "completion") answer.annotation = findAnnotation(context, app, message.query);
  if (answer.annotation) return yield* quoteAnnotation(context, writing, answer.annotation);
  if (agent_mode) return yield* writeAsAgent(context.records, writing, agent_mode);
  const passages = passagesFor(context, turn);
  answer.citations = drawn ? citationsOfAnswer(drawn, "api") : citationsOf(passages, "api");
  const reply = model.stream(promptOf(turn, passages), signal);
  answer.usage = (yield* sendPieces(writing, "message", reply)).usage;
}

/** ms before each piece of an annotation, which is one character. */
const CHARACTER_DELAY = 10;

async function* quoteAnnotation(
  { clock, records }: AppContext,
  { turn: { message }, answer, signal }: Writing,
  annotation: StoredAnnotation,
): AsyncGenerator<RunEvent> {
  const started = records.now();
  for (const text of annotation.answer) {
    await clock.sleep(CHARACTER_DELAY, signal);
    answer.text += text;
    yield messageEvent("message", { message, text });
  }
  answer.usage = { ...zeroUsage, latency: (records.now() - started) / 1000 };
}

/** Searches the knowledge bases of the application; a failure finds nothing (server §17). */
function passagesFor({ retrieve }: AppContext, { config, message }: Turn): readonly Passage[] {
  const { dataset_configs: settings } = config;
  if (!settings) return [];
  const minScore = settings.score_threshold_enabled ? settings.score_threshold : 0;
  const datasets = settings.datasets.datasets.map(({ dataset }) => dataset.id);
  const query = searchedText(config, message);
  const found = unlessModelFails(() => retrieve(datasets, query, settings.top_k)) ?? [];
  // Chunks of economy have no scores (server §6.1).
  return found.filter(
    ({ dataset, score }) => dataset.indexing_technique === "economy" || score >= minScore,
  );
}

function saveAnswer(context: AppContext, { message, names }: Turn, answer: Answer): void {
  const { records } = context;
  const { id, conversation_id, query } = message;
  const { text, citations, thoughts, error } = answer;
  records.store.transaction(() => {
    records.messages.update(
      { id },
      error
        ? { status: "error", error: error.message }
        : { answer: text.trim(), citations, thoughts },
    );
    records.conversations.update({ id: conversation_id }, { updated_at: records.now() });
    if (names && !error) nameConversation(context, conversation_id, query);
  });
}
