import { dirname } from "node:path";
import { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isObject } from "../../../lib/json.ts";
import type { Application } from "../application.ts";
import type { KnownLog } from "./query.ts";

/** What an export with --state leaves for the next one. It names what was written, so that nothing is twice. */
export interface ExportState {
  readonly application: Application;
  /** What was asked for; the next export must ask for the same. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Unix seconds, both included: what lies between was written, but for the runs that wait. */
  readonly since: number;
  readonly until: number;
  /** Ids of the entries of the last minute before `until`: later ones of that time are new. */
  readonly recent: readonly string[];
  /** Runs that had not ended: each is written when it has. */
  readonly waiting: readonly KnownLog[];
  /** The file that grows, as seen from the state's folder, and its size; null for a folder of files. */
  readonly file: { readonly path: string; readonly bytes: number } | null;
}

const kind = "wf logs export";

export const stateText = (state: ExportState): string =>
  `${JSON.stringify({ state_of: kind, ...state }, null, 2)}\n`;

/** The state of an earlier export; undefined when there is none. Throws usage for any other file. */
export async function readState(path: string, files: Files): Promise<ExportState | undefined> {
  if (!(await files.stat(path))) {
    // Better refused now than when all is read.
    await files.makeDirectory(dirname(path));
    return undefined;
  }
  const text = new TextDecoder().decode(await files.read(path));
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    state = undefined;
  }
  if (!isState(state)) {
    throw new CliError("usage", `--state ${path} is no state of an export`, {
      sideEffect: "none",
      hint: "name a file that is not there yet to begin one",
    });
  }
  return state;
}

const isState = (value: unknown): value is ExportState =>
  isObject(value) &&
  value["state_of"] === kind &&
  isObject(value["application"]) &&
  isObject(value["options"]) &&
  typeof value["since"] === "number" &&
  typeof value["until"] === "number" &&
  Array.isArray(value["recent"]) &&
  Array.isArray(value["waiting"]);

/** Throws usage when the state belongs to another application, or to an export of something else. */
export function checkState(
  path: string,
  { application, options }: ExportState,
  now: Application,
  asked: ExportState["options"],
): void {
  const other = (what: string, hint: string) =>
    new CliError("usage", `--state ${path} belongs to ${what}`, { sideEffect: "none", hint });
  // A name may change, the id does not.
  const renamed = application.id !== null && application.id === now.id;
  const foreign = application.id !== null && now.id !== null && application.id !== now.id;
  if (
    application.base_url !== now.base_url ||
    foreign ||
    (!renamed && application.name !== now.name)
  ) {
    throw other(
      `the application "${application.name}" at ${application.base_url}, and this is "${now.name}" at ${now.base_url}`,
      "use one state for each application; --app, --profile and --base-url choose the application",
    );
  }
  const names = [...new Set([...Object.keys(options), ...Object.keys(asked)])];
  const name = names.find((each) => JSON.stringify(options[each]) !== JSON.stringify(asked[each]));
  if (name === undefined) return;
  const said = (value: unknown) => (value === undefined ? "nothing" : JSON.stringify(value));
  throw other(
    `an export with ${name} ${said(options[name])}, and this one has ${said(asked[name])}`,
    "repeat what it was begun with, or begin another state",
  );
}
