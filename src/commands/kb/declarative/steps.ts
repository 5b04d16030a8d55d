import { isObject, own } from "../../../lib/json.ts";
import { settingDifferences } from "../snapshot/diff.ts";
import type { KbFile } from "./file.ts";
import type { FieldState, KbState } from "../snapshot/state.ts";

/** One change that makes a knowledge base what a file says. */
export interface ApplyStep {
  readonly action: "create" | "change" | "bind" | "unbind" | "switch" | "delete" | "failed";
  readonly what: "knowledge base" | "setting" | "tag" | "field" | "built-in fields" | "document";
  readonly name: string;
  readonly from: unknown;
  readonly to: unknown;
  readonly note: string | null;
}

/** What is there; undefined where there is no such knowledge base. */
export type Present = Omit<KbState, "documents"> | undefined;

const settingNames = [
  "description",
  "permission",
  "indexing_technique",
  "embedding_model",
] as const;

/**
 * The steps from what is there to what the file says, in the order in which they are taken. Throws
 * nothing: a field of another type, which no server changes, is a step with a note.
 */
export function planApply(file: KbFile, present: Present): readonly ApplyStep[] {
  const found: ApplyStep[] = [];
  const add = (step: Partial<ApplyStep> & Pick<ApplyStep, "action" | "what" | "name">) =>
    found.push({ from: null, to: null, note: null, ...step });

  if (!present) add({ action: "create", what: "knowledge base", name: file.knowledge_base });
  for (const name of settingNames) {
    const [from, to] = [present?.settings[name] ?? null, file[name]];
    if (to === undefined || to === (from ?? "")) continue;
    const note =
      present && (name === "indexing_technique" || name === "embedding_model")
        ? "indexes every document again"
        : null;
    add({ action: present ? "change" : "create", what: "setting", name, from, to, note });
  }
  for (const { name, from, to } of searchChanges(file, present)) {
    add({ action: present ? "change" : "create", what: "setting", name, from, to });
  }
  const bound = new Set(present?.tags);
  for (const name of new Set(file.tags)) {
    if (!bound.delete(name)) add({ action: "bind", what: "tag", name });
  }
  if (file.tags) for (const name of bound) add({ action: "unbind", what: "tag", name });
  for (const field of Object.entries(file.metadata ?? {})) {
    const step = fieldStep(field, present?.fields ?? []);
    if (step) add(step);
  }
  const before = present?.built_in_fields ?? false;
  const after = file.built_in_fields ?? before;
  if (after !== before) {
    const name = after ? "on" : "off";
    add({ action: "switch", what: "built-in fields", name, from: before, to: after });
  }
  return found;
}

function fieldStep(
  [name, type]: readonly [string, FieldState["type"]],
  fields: readonly FieldState[],
): (Partial<ApplyStep> & Pick<ApplyStep, "action" | "what" | "name">) | undefined {
  const there = fields.find((field) => field.name === name);
  if (there === undefined) return { action: "create", what: "field", name, to: type };
  if (there.type === type) return undefined;
  return {
    action: "change",
    what: "field",
    name,
    from: there.type,
    to: type,
    note: "no server changes the type of a field: delete it, with its values, or keep its type",
  };
}

/** Search settings that differ, by path. */
function* searchChanges({ retrieval_model: wanted }: KbFile, present: Present) {
  const there = present?.settings.retrieval_model;
  for (const [key, to] of Object.entries(wanted ?? {})) {
    const from = isObject(there) ? own(there, key) : undefined;
    const name = `retrieval_model.${key}`;
    if ([...settingDifferences(name, from, to)].length > 0) yield { name, from: from ?? null, to };
  }
}
