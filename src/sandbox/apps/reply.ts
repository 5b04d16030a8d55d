import { type Call, HttpError, type Reply } from "../protocol/handler.ts";
import { ruleModel } from "../models/rule-model.ts";
import type { StoredEndUser } from "./records/runs-store.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import { type AppContext, closing, isStreaming } from "./context.ts";
import { appError, fillShape, type RunEvent } from "./records/shapes.ts";
import { drawAnswer } from "./draw-answer.ts";
import { requireModel } from "./required-models.ts";
import { newAnswer } from "./answer.ts";
import type { ModelConfig } from "./definitions/model-config.ts";
import { conversationOf, openTurn, type SentMessage, type Turn, turnLine } from "./turn.ts";
import { writeAnswer } from "./write-answer.ts";

/** A basic application that is called, and by whom. */
interface Caller {
  readonly app: AppDefinition;
  readonly config: ModelConfig;
  readonly user: string;
}

/** Answers a message to a basic application, streaming or blocking. Throws HttpError. */
export async function replyToMessage(
  context: AppContext,
  call: Call,
  { app, config, user }: Caller,
  sent: SentMessage,
): Promise<Reply> {
  const { records } = context;
  const streaming = isStreaming(call);
  if (app.mode === "agent-chat" && !streaming) throw appError("agent blocking");
  if (app.mode !== "completion" && sent.query === "") throw appError("query missing");
  const drawn = drawAnswer(context, app, sent);
  const model = drawn ? ruleModel(context.clock, drawn) : requireModel(context, config.model.name);
  const endUser = records.endUser(app.name, user);
  const turn = openTurn(context, { app, config, endUser }, sent, call);
  const answer = newAnswer();
  const events = writeAnswer(context, model, { turn, answer, drawn }, closing(context, call));
  if (streaming) return { stream: linesOf(turn, events) };
  const { fields } = (await lastOf(events)) ?? {};
  if (answer.error) throw new HttpError(400, answer.error.code, answer.error.message);
  const values = { metadata: fields?.["metadata"], conversation_id: conversationOf(turn) };
  return { json: fillShape("blocking answer", { ...turn, answer, ...values }), utf8: true };
}

async function* linesOf(turn: Turn, events: AsyncGenerator<RunEvent>): AsyncGenerator<string> {
  for await (const event of events) yield turnLine(turn, event);
}

async function lastOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  let last: T | undefined;
  for await (const item of items) last = item;
  return last;
}

/** Stops the answer of a task of this end user, if there is one. */
export const stopAnswer = (
  { answers }: AppContext,
  { app, id }: StoredEndUser,
  taskId: string,
): void => {
  const task = answers.get(taskId);
  if (task?.app === app && task.end_user_id === id) task.stop.abort();
};
