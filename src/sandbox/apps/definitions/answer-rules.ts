import type { RuleAnswer } from "../../models/language-model.ts";
import { fixedNumber } from "../../protocol/ids.ts";

/** A question as patterns compare it. */
interface ComparedQuestion {
  readonly text: string;
  /** Without the case and the blanks that do not matter. */
  readonly folded: string;
}

/** Whether a question matches. */
export type QuestionPattern = (question: ComparedQuestion) => boolean;

/** The rules of an application: the first that matches answers. */
export interface AnswerRules {
  readonly rules: readonly {
    readonly question: QuestionPattern;
    /** What an earlier message of the conversation must match. */
    readonly after: QuestionPattern | undefined;
    /** Whether an answer is repeated until the caches are cleared. */
    readonly cache: boolean;
    /** One of them is drawn; at least one. */
    readonly answers: readonly RuleAnswer[];
  }[];
  /** The answers to all other questions. */
  readonly otherwise: readonly RuleAnswer[];
}

/** A question to an application, after the earlier messages of its conversation. */
export interface AskedQuestion {
  readonly app: string;
  readonly question: string;
  readonly earlier: readonly string[];
}

/**
 * Draws the answers of applications with rules. The n-th answer to a question depends on the seed, the
 * application, the question with the earlier messages of its conversation, and n: what other
 * questions are sent in the meantime, and in which order, makes no difference. Answers from a cache are
 * not drawn and do not count.
 */
export class RuleDraws {
  readonly #seed: number;
  /** How often an answer to each question was drawn. */
  readonly #asked = new Map<string, number>();
  /** The cached answer to each question. */
  readonly #cached = new Map<string, RuleAnswer>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  draw({ rules, otherwise }: AnswerRules, { app, question, earlier }: AskedQuestion): RuleAnswer {
    const asked = compared(question);
    const before = earlier.map(compared);
    const rule = rules.find(
      (each) => each.question(asked) && (!each.after || before.some(each.after)),
    );
    const key = JSON.stringify([app, ...before.map((each) => each.folded), asked.folded]);
    const cached = this.#cached.get(key);
    if (cached) return cached;
    const count = (this.#asked.get(key) ?? 0) + 1;
    this.#asked.set(key, count);
    const chance = fixedNumber("answer", String(this.#seed), key, String(count));
    const drawn = drawOne(rule?.answers ?? otherwise, chance);
    const isError = drawn.error !== undefined || drawn.status !== undefined;
    if (rule?.cache && !isError) this.#cached.set(key, drawn);
    return drawn;
  }

  /** Forgets all cached answers; returns their number. */
  clearCaches(): number {
    const { size } = this.#cached;
    this.#cached.clear();
    return size;
  }
}

const compared = (text: string): ComparedQuestion => ({ text, folded: folded(text) });

/** A text without the case and the blanks that do not matter. */
export const folded = (text: string): string =>
  text.normalize("NFKC").toLowerCase().trim().replace(/\s+/gu, " ");

/** The answer at a place from 0 to 1 of the weights. */
function drawOne(answers: readonly RuleAnswer[], chance: number): RuleAnswer {
  let left = chance * answers.reduce((sum, { weight }) => sum + weight, 0);
  const drawn = answers.find(({ weight }) => (left -= weight) < 0) ?? answers.at(-1);
  if (!drawn) throw new Error("a rule without answers"); // the reader of rules makes sure
  return drawn;
}

/** The kinds of application that can answer by rules. */
export const ruleModes = ["chat", "advanced-chat", "workflow", "completion"] as const;
