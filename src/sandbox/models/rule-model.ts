import type { Clock } from "../protocol/handler.ts";
import { piecesOf, type TextModel } from "./language-model.ts";
import { errorKind, ModelError } from "./model-error.ts";
import { countTokens, tokenUsage } from "./tokens.ts";

/** Pieces of an answer before it breaks, if it has as many. */
const BROKEN_AFTER = 3;

/** A model that gives one answer to whatever it is asked. */
export const ruleModel = (clock: Clock, drawn: RuleAnswer): TextModel => ({
  async *stream(prompt, signal) {
    const { answer, delay, error } = drawn;
    if (delay > 0) await clock.sleep(delay, signal);
    const pieces = piecesOf(answer);
    if (error === undefined) yield* pieces;
    else {
      if (error.startsWith("mid-")) yield* pieces.slice(0, BROKEN_AFTER);
      throw new ModelError(errorKind(error.replace(/^mid-/, "")), "0".repeat(10));
    }
    const counted = {
      prompt: countTokens(`${prompt.system ?? ""}${prompt.user}`),
      completion: countTokens(answer),
    };
    // Not measured: the times of the same answer are the same, whatever else the server does.
    const times = { started: 0, first: delay, ended: delay };
    return { text: answer, usage: tokenUsage(drawn.tokens ?? counted, times), tool: undefined };
  },
});

/** What an application with rules answers; plain data, so that a run can keep it. */
export interface RuleAnswer {
  readonly answer: string;
  /** How often it is drawn, compared with the other answers of its rule. */
  readonly weight: number;
  /** Passages of documents. */
  readonly cites: readonly {
    readonly knowledge_base: string;
    readonly document: string;
    readonly text: string;
    readonly score: number;
  }[];
  /** What the usage says; undefined for four characters each. */
  readonly tokens: { readonly prompt: number; readonly completion: number } | undefined;
  /** ms before the first piece. */
  readonly delay: number;
  /** Kind of error of the model, with `mid-` after some pieces. */
  readonly error: string | undefined;
  /** Status of the response instead of an answer. */
  readonly status: number | undefined;
}
