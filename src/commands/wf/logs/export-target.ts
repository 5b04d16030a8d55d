import { dirname, join, relative, resolve } from "node:path";
import { usage } from "../../../errors.ts";
import type { Files, Host } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { csvLines, formulasIn } from "../../../lib/formats/csv.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../lib/json.ts";
import type { WorkflowLog, WorkflowRun } from "../../../operations/workflows.ts";
import type { Context } from "../../task/command-spec.ts";
import type { Application } from "../app/index.ts";
import { logColumns } from "./query.ts";
import type { KnownLog } from "./query.ts";

/** The target of an export, and its temporary files until it is complete. */
export interface ExportTarget {
  readonly kind: "file" | "directory";
  readonly path: string;
  readonly format: "jsonl" | "csv" | "otlp";
  /** The rows so far. */
  readonly part: string;
  readonly journal: string;
}

/** A path ending in .jsonl or .csv is a file, any other a directory. Throws `usage` for a mismatch. */
export async function exportTarget(
  path: string | undefined,
  { host, options }: Context,
): Promise<ExportTarget> {
  if (path === undefined)
    throw usage("missing argument <target>", "name a file such as runs.jsonl, or a directory");
  const invalid = (problem: string, hint: string) =>
    usage(`<target> ${JSON.stringify(path)} ${problem}`, hint);
  const isTraces = options.format === "otlp";
  if (path === "-") {
    throw invalid(
      "is not a file",
      `write to stdout with ${commandLine("wf logs", [], { all: true, o: "jsonl" })}`,
    );
  }
  const extension = /\.(jsonl|csv)$/.exec(path)?.[1] as "jsonl" | "csv" | undefined;
  if (isTraces && extension === "csv")
    throw invalid("is not a file for traces", "the name of a file of traces must end in .jsonl");
  const existing = await host.files.stat(path);
  if (existing && existing.isDirectory === (extension !== undefined)) {
    throw existing.isDirectory
      ? invalid("is a directory", "the name of a target directory must not end in .jsonl or .csv")
      : invalid("is a file", "the name of a target file must end in .jsonl or .csv");
  }
  const kind = extension === undefined ? "directory" : "file";
  const rows = extension ?? (options.format === "csv" ? "csv" : "jsonl");
  const format = isTraces ? "otlp" : rows;
  const part = kind === "file" ? `${path}.part` : join(path, "export.part");
  return { kind, path, format, part, journal: `${part}.journal` };
}

/** The file of one export: the target, or a new file in the target directory, named by time. */
export async function fileFor(
  { kind, path, format }: ExportTarget,
  until: string,
  { files }: Host,
): Promise<string> {
  if (kind === "file") return path;
  const stem = join(path, until.replaceAll(":", "-"));
  const extension = format === "csv" ? "csv" : "jsonl";
  let file = `${stem}.${extension}`;
  for (let number = 2; await files.stat(file); number++) file = `${stem}-${number}.${extension}`;
  return file;
}

/** The file that the rows of an export are appended to, and its size. */
export type ExportBase = { readonly path: string; readonly bytes: number } | undefined;

/**
 * The file that an export with --state continues. Throws `usage` for a file other than in the state,
 * in which rows would be duplicated or lost, and without --state for any file.
 */
export async function baseOf(
  { kind, path }: ExportTarget,
  statePath: string | undefined,
  state: ExportState | undefined,
  host: Host,
): Promise<ExportBase> {
  const existing = kind === "directory" ? null : await host.files.stat(path);
  if (!existing) return undefined;
  if (statePath === undefined)
    throw usage(`${path} already exists`, "name another file, or add --overwrite to replace it");
  const recorded = state?.file?.path === relativeTo(statePath, path, host) ? state.file : undefined;
  if (recorded?.bytes === existing.size) return { path, bytes: existing.size };
  throw usage(
    recorded
      ? `${path} has ${existing.size} bytes instead of the ${recorded.bytes} recorded in ${statePath}`
      : `${path} already exists and is not recorded in ${statePath}`,
    "move the file away, or choose another target",
  );
}

/** A path relative to the state file, so both can be moved together. */
export const relativeTo = (statePath: string, path: string, { cwd }: Host): string =>
  relative(dirname(resolve(cwd, statePath)), resolve(cwd, path)).replaceAll("\\", "/");

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
  `${stringifyJson({ state_of: STATE_KIND, ...state }, 2)}\n`;

/** Reads the state of the previous export; undefined without one. Throws `usage` for any other file. */
export async function readState(path: string, files: Files): Promise<ExportState | undefined> {
  if (!(await files.stat(path))) {
    // An error now is better than one after reading the log.
    await files.makeDirectory(dirname(path));
    return undefined;
  }
  const state = tryParseJson(new TextDecoder().decode(await files.read(path)));
  if (isState(state)) return state;
  throw usage(
    `--state ${path} is not the state of an export`,
    "choose a new file name to start a new state",
  );
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
  const hasIds = application.id !== null && now.id !== null;
  const isSame = hasIds ? application.id === now.id : application.name === now.name;
  if (application.base_url !== now.base_url || !isSame) {
    throw other(
      `application "${application.name}" at ${application.base_url}, not "${now.name}" at ${now.base_url}`,
      "use one state per application; --app, --profile and --base-url select the application",
    );
  }
  const names = Object.keys({ ...options, ...currentOptions });
  const textOf = (value: unknown) => (value === undefined ? "nothing" : stringifyJson(value));
  const name = names.find((each) => textOf(options[each]) !== textOf(currentOptions[each]));
  if (name === undefined) return;
  throw other(
    `an export with ${name} ${textOf(options[name])}, not ${textOf(currentOptions[name])}`,
    "use the same options as before, or start another state",
  );
}

/** A log row with the details of its run: undefined if not requested, null if the server has none. */
interface DetailedLog {
  readonly log: WorkflowLog;
  readonly detail: WorkflowRun | null | undefined;
}

/** The header of a file and the lines of log rows. */
export interface LogLines {
  readonly head: string;
  of(logs: readonly DetailedLog[]): string;
  /** Warns of formulas that were written unchanged. */
  warn(): Promise<void>;
}

/** Columns of a CSV file. Their order is part of its format: exports append to files of older versions. */
const fileColumns = [
  "run",
  "status",
  "started",
  "elapsed",
  "tokens",
  "steps",
  "by",
  "error",
  "exceptions",
  "finished",
  "version",
  "triggered_from",
  "created_from",
  "log",
].flatMap((name) => logColumns.find(({ label }) => label === name) ?? []);

/** JSON as received with a field `run_detail`, or CSV with every column of `wf logs`, times in UTC. */
export async function logLines(
  format: ExportTarget["format"],
  withDetail: boolean,
  { options, notice }: Context,
): Promise<LogLines> {
  if (format !== "csv")
    return { head: "", of: (logs) => logs.map(jsonLine).join(""), warn: () => Promise.resolve() };
  const formulas = formulasIn(options.flags.safeCells === true, notice);
  const lines = await csvLines();
  const detailed = withDetail ? (["inputs", "outputs"] as const) : [];
  const cells = ({ log, detail }: DetailedLog) =>
    [...fileColumns.map(({ value }) => value(log)), ...detailed.map((name) => detail?.[name])].map(
      (value) => formulas.cell(cell(value)),
    );
  return {
    head: lines([[...fileColumns.map(({ label }) => label), ...detailed]]),
    of: (logs) => lines(logs.map(cells)),
    warn: formulas.warn,
  };
}

const jsonLine = ({ log, detail }: DetailedLog): string =>
  `${stringifyJson(detail === undefined ? log : { ...log, run_detail: detail })}\n`;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  return typeof value === "string" ? value : stringifyJson(value);
}
