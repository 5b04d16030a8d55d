import { equals, isWithin } from "./claims.ts";
import type { Forms } from "./forms.ts";
import { readAmount, readDuration, readTimeLimit } from "./limits.ts";
import type { Limit } from "./limits.ts";
import { fieldCheck } from "./parser.ts";
import type { Check, ConditionField } from "./parser.ts";

/** The fields of a run that its sentences are about. */
type RunFields<T> = Readonly<Record<"status" | "elapsed" | "tokens" | "steps", ConditionField<T>>>;

/** Whether a number of the run is within the limit. */
export const isLimited = <T>(
  fields: RunFields<T>,
  name: "elapsed" | "tokens" | "steps",
  limit: Limit,
): Check<T> => fieldCheck(name, fields[name], isWithin(limit));

/** Whether the run ended like this, and if so, within the limit. */
function hasEnded<T>(fields: RunFields<T>, status: string, limit: Limit | undefined): Check<T> {
  const end = fieldCheck("status", fields.status, equals(status));
  if (limit === undefined) return end;
  const time = isLimited(fields, "elapsed", limit);
  return {
    named: [...end.named, ...time.named],
    evaluate(run) {
      const result = end.evaluate(run);
      return result.passed ? time.evaluate(run) : result;
    },
  };
}

/** The sentences that begin with `run`, as checks of its fields. */
export const runForms: Forms<<T>(fields: RunFields<T>) => Check<T>> = {
  "succeeded|partial-succeeded|failed|stopped|paused [within TIME]": (reader, _, status) => {
    const limit = readTimeLimit(reader);
    return (fields) => hasEnded(fields, status, limit);
  },
  "took BOUND TIME": (reader) => {
    const limit = readDuration(reader);
    return (fields) => isLimited(fields, "elapsed", limit);
  },
  "used [BOUND] N tokens|steps": (reader) => {
    const limit = readAmount(reader);
    const unit = reader.oneOf(["tokens", "steps"]);
    return (fields) => isLimited(fields, unit, limit);
  },
};
