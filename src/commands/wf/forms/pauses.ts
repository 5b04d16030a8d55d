import type { Form } from "../../../runs/outcome.ts";

/** Submits one of these forms; returns which, or why none was submitted (empty: by choice). */
export type SubmitOne = (open: readonly Form[]) => Promise<{ readonly token: string } | string>;

/** Submits one form of a paused run: true if the run will continue, or why it stays paused. */
export type AnswerPause = (forms: readonly Form[]) => Promise<true | string>;

/** How often a run may be paused for forms that were submitted: the server may still be resuming it. */
const MAX_WAITS = 3;

/**
 * Returns a function that submits one form at each pause of a run. One at a time, because two forms
 * submitted at once can leave a run paused forever (server §14): the next one waits until the run is
 * paused again.
 */
export function formAnswerer(submitOne: SubmitOne): AnswerPause {
  const submitted = new Set<string>();
  let waits = 0;
  return async (forms) => {
    const open = forms.filter(({ token }) => !submitted.has(token));
    if (open.length === 0 && forms.length > 0)
      return ++waits <= MAX_WAITS || "its forms were submitted, but it is still paused";
    if (open.length === 0) return "it has no form that can be submitted here";
    const result = await submitOne(open);
    if (typeof result === "string") return result;
    submitted.add(result.token);
    waits = 0;
    return true;
  };
}
