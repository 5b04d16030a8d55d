import { dirname } from "node:path";
import { usage } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import type { Application } from "../app/index.ts";
import type { ExportStep } from "./export-journal.ts";
import type { KnownLog } from "./query.ts";

/** The state file of an export, from which the next one with the same --state continues. */
export interface ExportState {
  readonly application: Application;
  /** The options of the export; the next one must have the same. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Unix seconds, both inclusive. All runs between them are written, except for `waiting`. */
  readonly since: number;
  readonly until: number;
  /** IDs of the rows in the last minute before `until`; others of that minute are new. */
  readonly recent: readonly string[];
  /** Unfinished runs; each is written once it has ended. */
  readonly waiting: readonly KnownLog[];
  /** The file that grows, relative to the state file, and its size; null for a directory of files. */
  readonly file: { readonly path: string; readonly bytes: number } | null;
}

const STATE_KIND = "wf logs export";

export const stateText = (state: ExportState): string =>
  `${JSON.stringify({ state_of: STATE_KIND, ...state }, null, 2)}\n`;

/** Reads the state of the previous export; undefined without one. Throws `usage` for any other file. */
export async function readState(path: string, files: Files): Promise<ExportState | undefined> {
  if (!(await files.stat(path))) {
    // An error now is better than one after reading the log.
    await files.makeDirectory(dirname(path));
    return undefined;
  }
  const state = tryParseJson(new TextDecoder().decode(await files.read(path)));
  if (!isState(state)) {
    throw usage(
      `--state ${path} is not the state of an export`,
      "choose a new file name to start a new state",
    );
  }
  return state;
}

const isState = (value: unknown): value is ExportState =>
  isObject(value) &&
  value["state_of"] === STATE_KIND &&
  isObject(value["application"]) &&
  isObject(value["options"]) &&
  typeof value["since"] === "number" &&
  typeof value["until"] === "number" &&
  Array.isArray(value["recent"]) &&
  Array.isArray(value["waiting"]);

/** Throws `usage` if the state belongs to another application or to other options. */
export function checkState(
  path: string,
  { application, options }: ExportState,
  now: Application,
  currentOptions: ExportState["options"],
): void {
  const other = (what: string, hint: string) => usage(`--state ${path} belongs to ${what}`, hint);
  // A name may change, the id does not.
  const renamed = application.id !== null && application.id === now.id;
  const foreign = application.id !== null && now.id !== null && application.id !== now.id;
  if (
    application.base_url !== now.base_url ||
    foreign ||
    (!renamed && application.name !== now.name)
  ) {
    throw other(
      `application "${application.name}" at ${application.base_url}, not "${now.name}" at ${now.base_url}`,
      "use one state per application; --app, --profile and --base-url select the application",
    );
  }
  const names = [...new Set([...Object.keys(options), ...Object.keys(currentOptions)])];
  const name = names.find(
    (each) => JSON.stringify(options[each]) !== JSON.stringify(currentOptions[each]),
  );
  if (name === undefined) return;
  const textOf = (value: unknown) => (value === undefined ? "nothing" : JSON.stringify(value));
  throw other(
    `an export with ${name} ${textOf(options[name])}, not ${textOf(currentOptions[name])}`,
    "use the same options as before, or start another state",
  );
}

/** The IDs of the last minute. An export that ends before the previous one sees only some of them. */
export const recentAfter = (state: ExportState | undefined, { until, recent }: ExportStep) =>
  until === state?.until ? [...new Set([...(state?.recent ?? []), ...recent])] : recent;

/** Unfinished runs that a later export writes. */
export function waitingAfter(
  state: ExportState | undefined,
  done: ExportStep,
): readonly KnownLog[] {
  const settled = new Set(done.settled);
  return [...(state?.waiting ?? []).filter(({ id }) => !settled.has(id)), ...done.waiting];
}
