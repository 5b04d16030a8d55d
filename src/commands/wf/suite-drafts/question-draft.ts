import type { DraftOrReason, DraftTurn } from "./draft.ts";

/** A draft of a question and its answer, or which of them is missing; `before` are earlier turns. */
export function questionDraft(
  { query, inputs }: { readonly query: unknown; readonly inputs?: DraftTurn["inputs"] },
  answer: unknown,
  {
    name,
    before = [],
  }: { readonly name?: string | undefined; readonly before?: readonly DraftTurn[] } = {},
): DraftOrReason {
  const [question, expected] = [trimmed(query), trimmed(answer)];
  if (question === "") return "without a question";
  if (expected === "") return "without an answer";
  const asked = { query: question, ...(Object.keys(inputs ?? {}).length > 0 && { inputs }) };
  const [first = asked, ...others] = [...before, asked];
  return { name, turns: [first, ...others], answers: [expected], outputs: {} };
}

/** A text without white space around it; empty for any other value. */
const trimmed = (value: unknown): string => (typeof value === "string" ? value.trim() : "");
