import { usage } from "../../../errors.ts";
import { valueAt } from "../../../lib/json.ts";
import { getChunk } from "../../../operations/chunks.ts";
import type { Filling } from "../../command-rules.ts";

/** The values of a change of a chunk: without both, the server clears a question and its answer (server §9.8). */
export async function fillChunk({
  resolved,
  read,
  trace,
  helpHint,
}: Filling): Promise<Readonly<Record<string, unknown>>> {
  const known = await resolved();
  const fields = ["content", "answer"].filter((field) => known[`segment.${field}`] === undefined);
  if (fields.length === 0) return known;
  const current = await read(getChunk, known);
  if (valueAt(current, "doc_form") !== "qa_model") return known;
  for (const field of fields) {
    const value = valueAt(current, `data.${field}`) ?? undefined;
    if (value === undefined)
      throw usage(`--${field} is required: there is no current value to keep`, helpHint);
    known[`segment.${field}`] = value;
    await trace(`segment.${field} ${JSON.stringify(value)} (from the current)`);
  }
  return known;
}
