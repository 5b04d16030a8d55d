import { isObject, own, stringifyJson } from "../../../lib/json.ts";
import type { FieldState, KbProperties, KbSettings } from "../documents/index.ts";
import { change } from "./change.ts";
import type { Change } from "./change.ts";

/** The current state; undefined if the knowledge base does not exist. */
export type CurrentState = KbProperties | undefined;

/** A knowledge base as it should be, without documents. What is undefined is kept. */
export interface DesiredState {
  readonly name: string;
  readonly settings: Readonly<Partial<Record<SettingName, unknown>>>;
  /** All bound tags. */
  readonly tags?: readonly string[] | undefined;
  readonly fields?: readonly FieldState[] | undefined;
  readonly built_in_fields?: boolean | undefined;
}

type SettingName = Exclude<keyof KbSettings, "name">;

const settingNames: readonly SettingName[] = [
  "description",
  "permission",
  "indexing_technique",
  "doc_form",
  "embedding_model",
  "retrieval_model",
  "summary_index_setting",
];

/**
 * Plans the changes from the current to the desired state, in the order of execution; pure. A field of
 * another type, which no server can change, becomes a change with a note. `exact` also removes fields
 * and members of settings that are not desired.
 */
export function planSettings(
  desired: DesiredState,
  current: CurrentState,
  exact = false,
): readonly Change[] {
  const created: Change[] = current
    ? []
    : [change({ action: "create", what: "knowledge base", name: desired.name })];
  return [
    ...created,
    ...settingNames.flatMap((name) => settingChanges(name, desired, current, exact)),
    ...tagChanges(desired, current),
    ...fieldChanges(desired.fields, current?.fields ?? [], exact),
    ...builtInChanges(desired, current),
  ];
}

function settingChanges(
  setting: SettingName,
  desired: DesiredState,
  current: CurrentState,
  exact: boolean,
): Change[] {
  const to = desired.settings[setting];
  if (to === undefined) return [];
  const now = current?.settings[setting];
  const from = isObject(to) && !exact ? pick(now, Object.keys(to)) : now;
  const reindexes = setting === "indexing_technique" || setting === "embedding_model";
  const note = current && reindexes ? "indexes every document again" : null;
  const action = current ? "change" : "create";
  return [...leafDifferences(setting, from, to)].map((leaf) =>
    change({ action, what: "setting", note, ...leaf }),
  );
}

const pick = (value: unknown, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(keys.map((key) => [key, isObject(value) ? own(value, key) : undefined]));

/** Values that differ, by path; a missing or an empty value equals null, as servers differ in that. */
function* leafDifferences(
  name: string,
  from: unknown,
  to: unknown,
): Generator<Pick<Change, "name" | "from" | "to">> {
  if (isObject(from) && isObject(to)) {
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)]))
      yield* leafDifferences(`${name}.${key}`, own(from, key), own(to, key));
  } else if (stringifyJson(orNull(from)) !== stringifyJson(orNull(to)))
    yield { name, from: from ?? null, to: to ?? null };
}

const orNull = (value: unknown): unknown => (value === "" ? null : (value ?? null));

function tagChanges({ tags }: DesiredState, current: CurrentState): Change[] {
  if (!tags) return [];
  const bound = new Set(current?.tags);
  const bind = [...new Set(tags)].filter((name) => !bound.delete(name));
  return [
    ...bind.map((name) => change({ action: "bind", what: "tag", name })),
    ...[...bound].map((name) => change({ action: "unbind", what: "tag", name })),
  ];
}

function fieldChanges(
  desired: readonly FieldState[] = [],
  current: readonly FieldState[],
  exact: boolean,
): Change[] {
  const types = new Map(current.map(({ name, type }) => [name, type]));
  const changes = desired.flatMap(({ name, type: to }) => {
    const from = types.get(name) ?? null;
    types.delete(name);
    if (from === to) return [];
    return [
      from === null
        ? change({ action: "create", what: "field", name, to })
        : change({ action: "change", what: "field", name, from, to, note: fixedType }),
    ];
  });
  if (!exact) return changes;
  const unwanted = [...types].map(([name, from]) =>
    change({ action: "delete", what: "field", name, from }),
  );
  return [...changes, ...unwanted];
}

const fixedType =
  "the type of a field cannot change: delete the field and its values, or keep the type";

function builtInChanges({ built_in_fields: to }: DesiredState, current: CurrentState): Change[] {
  const from = current?.built_in_fields ?? false;
  if (to === undefined || to === from) return [];
  return [change({ action: "switch", what: "built-in fields", name: "built_in_fields", from, to })];
}
