/** A document that an answer cites. */
export interface CitedText {
  readonly knowledge_base: string;
  readonly document: string;
  /** The passage. */
  readonly text: string;
  readonly score: number;
}

/** What an application with rules answers; plain data, so that a run can keep it. */
export interface RuleAnswer {
  readonly answer: string;
  /** How often it is drawn, compared with the other answers of its rule. */
  readonly weight: number;
  readonly cites: readonly CitedText[];
  /** What the usage says; undefined for four characters each. */
  readonly tokens: { readonly prompt: number; readonly completion: number } | undefined;
  /** ms before the first piece. */
  readonly delay: number;
  /** Kind of error of the model, with `mid-` after some pieces. */
  readonly error: string | undefined;
  /** Status of the response instead of an answer. */
  readonly status: number | undefined;
}
