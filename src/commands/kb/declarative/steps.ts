import { isObject, own } from "../../../lib/json.ts";
import type { FieldState, KbState } from "../documents/index.ts";
import { diffSetting } from "../snapshot/index.ts";
import type { KbFile } from "./file.ts";

/** One change that `kb apply` makes. */
export interface ApplyStep {
  readonly action: "create" | "change" | "bind" | "unbind" | "switch" | "delete" | "failed";
  readonly what: "knowledge base" | "setting" | "tag" | "field" | "built-in fields" | "document";
  readonly name: string;
  readonly from: unknown;
  readonly to: unknown;
  readonly note: string | null;
}

/** The current state; undefined if the knowledge base does not exist. */
export type CurrentState = Omit<KbState, "documents"> | undefined;

const settingNames = [
  "description",
  "permission",
  "indexing_technique",
  "embedding_model",
] as const;

/**
 * Plans the steps from the current state to that of the file, in the order of execution; pure. A field
 * of another type, which no server can change, becomes a step with a note.
 */
export function planApply(file: KbFile, current: CurrentState): readonly ApplyStep[] {
  const steps: ApplyStep[] = [];
  const add = (step: Partial<ApplyStep> & Pick<ApplyStep, "action" | "what" | "name">) =>
    steps.push({ from: null, to: null, note: null, ...step });

  const settingAction = current ? "change" : "create";
  if (!current) add({ action: "create", what: "knowledge base", name: file.knowledge_base });
  for (const name of settingNames) {
    const [from, to] = [current?.settings[name] ?? null, file[name]];
    if (to === undefined || to === (from ?? "")) continue;
    const reindexes = name === "indexing_technique" || name === "embedding_model";
    const note = current && reindexes ? "indexes every document again" : null;
    add({ action: settingAction, what: "setting", name, from, to, note });
  }
  for (const { name, from, to } of searchChanges(file, current))
    add({ action: settingAction, what: "setting", name, from, to });
  const bound = new Set(current?.tags);
  for (const name of new Set(file.tags)) {
    if (!bound.delete(name)) add({ action: "bind", what: "tag", name });
  }
  if (file.tags) for (const name of bound) add({ action: "unbind", what: "tag", name });
  for (const field of Object.entries(file.metadata ?? {})) {
    const step = fieldStep(field, current?.fields ?? []);
    if (step) add(step);
  }
  const before = current?.built_in_fields ?? false;
  const after = file.built_in_fields ?? before;
  if (after !== before) {
    const name = after ? "on" : "off";
    add({ action: "switch", what: "built-in fields", name, from: before, to: after });
  }
  return steps;
}

function fieldStep(
  [name, type]: readonly [string, FieldState["type"]],
  fields: readonly FieldState[],
): (Partial<ApplyStep> & Pick<ApplyStep, "action" | "what" | "name">) | undefined {
  const existing = fields.find((field) => field.name === name);
  if (existing === undefined) return { action: "create", what: "field", name, to: type };
  if (existing.type === type) return undefined;
  return {
    action: "change",
    what: "field",
    name,
    from: existing.type,
    to: type,
    note: "the type of a field cannot change: delete the field and its values, or keep the type",
  };
}

/** Search settings that differ, by path. */
function* searchChanges({ retrieval_model }: KbFile, current: CurrentState) {
  const settings = current?.settings.retrieval_model;
  for (const [key, to] of Object.entries(retrieval_model ?? {})) {
    const from = isObject(settings) ? own(settings, key) : undefined;
    const name = `retrieval_model.${key}`;
    if ([...diffSetting(name, from, to)].length > 0) yield { name, from: from ?? null, to };
  }
}
