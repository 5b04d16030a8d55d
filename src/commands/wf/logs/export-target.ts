import { dirname, join, relative, resolve } from "node:path";
import { usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { ExportState } from "./export-state.ts";
import type { ExportFiles } from "./export-journal.ts";
import type { LogFormat } from "./write-lines.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** The target of an export, and its temporary files until it is complete. */
export interface ExportTarget {
  readonly kind: "file" | "directory";
  readonly path: string;
  readonly format: LogFormat;
  readonly part: string;
  readonly journal: string;
}

/** A path ending in .jsonl or .csv is a file, any other a directory. Throws `usage` for a mismatch. */
export async function exportTarget(
  path: string,
  { host, options }: Context,
): Promise<ExportTarget> {
  const invalid = (problem: string, hint: string) =>
    usage(`<target> ${JSON.stringify(path)} ${problem}`, hint);
  if (path === "-") {
    throw invalid(
      "is not a file",
      `write to stdout with ${commandLine("wf logs", [], { all: true, o: "jsonl" })}`,
    );
  }
  const extension = /\.(jsonl|csv)$/.exec(path)?.[1];
  const existing = await host.files.stat(path);
  if (existing && existing.isDirectory === (extension !== undefined)) {
    throw existing.isDirectory
      ? invalid("is a directory", "the name of a target directory must not end in .jsonl or .csv")
      : invalid("is a file", "the name of a target file must end in .jsonl or .csv");
  }
  const kind = extension === undefined ? "directory" : "file";
  const defaultFormat = options.format === "csv" ? "csv" : "jsonl";
  const part = kind === "file" ? `${path}.part` : join(path, "export.part");
  return {
    kind,
    path,
    format: extension === undefined ? defaultFormat : (extension as LogFormat), // by the pattern
    part,
    journal: `${part}.journal`,
  };
}

/** The file of one export: the target, or a new file in the target directory, named by time. */
export async function fileFor(
  { kind, path, format }: ExportTarget,
  until: string,
  { files }: Host,
): Promise<string> {
  if (kind === "file") return path;
  const stem = join(path, until.replaceAll(":", "-"));
  let file = `${stem}.${format}`;
  for (let number = 2; await files.stat(file); number++) file = `${stem}-${number}.${format}`;
  return file;
}

/** Throws `usage` if the target file exists: an export with --state may continue it. */
export async function checkNotExisting(
  { kind, path }: ExportTarget,
  { files }: Host,
): Promise<void> {
  if (kind === "directory" || !(await files.stat(path))) return;
  throw usage(`${path} already exists`, "name another file, or add --overwrite to replace it");
}

/**
 * The file that an export with --state continues. Throws `usage` for a file other than in the state,
 * in which rows would be duplicated or lost.
 */
export async function baseOf(
  { kind, path }: ExportTarget,
  statePath: string,
  state: ExportState | undefined,
  host: Host,
): Promise<ExportFiles["base"]> {
  if (kind === "directory") return undefined;
  const existing = await host.files.stat(path);
  if (!existing) return undefined;
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
