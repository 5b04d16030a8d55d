import { dirname, join, relative, resolve } from "node:path";
import { CliError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { ExportState } from "./export-state.ts";
import type { ExportPlace } from "./export-journal.ts";
import type { LogFormat } from "./write-lines.ts";
import type { Context } from "../../command-spec.ts";

/** Where an export goes, and where it works until it is whole. */
export interface ExportTarget {
  readonly kind: "file" | "folder";
  readonly path: string;
  readonly format: LogFormat;
  readonly part: string;
  readonly journal: string;
}

/** A path ending in .jsonl or .csv is a file, any other a folder. Throws usage for what is neither. */
export async function exportTarget(
  path: string,
  { host, options: asked }: Context,
): Promise<ExportTarget> {
  const wrong = (problem: string, hint: string) =>
    new CliError("usage", `<target> ${JSON.stringify(path)} ${problem}`, {
      sideEffect: "none",
      hint,
    });
  if (path === "-") {
    throw wrong("is no file", "`wf logs --all -o jsonl` writes to standard output");
  }
  const end = /\.(jsonl|csv)$/.exec(path)?.[1];
  const there = await host.files.stat(path);
  if (there && there.isDirectory === (end !== undefined)) {
    throw there.isDirectory
      ? wrong("is a folder", "the name of a folder does not end in .jsonl or .csv")
      : wrong("is a file", "the name of a file ends in .jsonl or .csv");
  }
  const kind = end === undefined ? "folder" : "file";
  const part = kind === "file" ? `${path}.part` : join(path, "export.part");
  return {
    kind,
    path,
    format: end === "csv" || (end === undefined && asked.format === "csv") ? "csv" : "jsonl",
    part,
    journal: `${part}.journal`,
  };
}

/** The file of one export: the target, or one in the folder that is named by time and not there yet. */
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

/** Throws usage where a file would be replaced: another export may go on with it. */
export async function refuseExisting({ kind, path }: ExportTarget, { files }: Host): Promise<void> {
  if (kind === "folder" || !(await files.stat(path))) return;
  throw new CliError("usage", `${path} already exists`, {
    sideEffect: "none",
    hint: "name another file, or add --overwrite to replace it",
  });
}

/**
 * The file that a state goes on with. Throws usage when what is there is not what the state names:
 * rows would stand in it twice, or be lost.
 */
export async function baseOf(
  { kind, path }: ExportTarget,
  statePath: string,
  state: ExportState | undefined,
  host: Host,
): Promise<ExportPlace["base"]> {
  if (kind === "folder") return undefined;
  const there = await host.files.stat(path);
  if (!there) return undefined;
  const named = state?.file?.path === seenFrom(statePath, path, host) ? state.file : undefined;
  if (named?.bytes === there.size) return { path, bytes: there.size };
  throw new CliError(
    "usage",
    named
      ? `${path} has ${there.size} bytes, and ${statePath} was left with ${named.bytes}`
      : `${path} is there, and ${statePath} does not say what it holds`,
    { sideEffect: "none", hint: "move the file away, or name another one" },
  );
}

/** A path as seen from the folder of the state, so that both can be moved together. */
export const seenFrom = (statePath: string, path: string, { cwd }: Host): string =>
  relative(dirname(resolve(cwd, statePath)), resolve(cwd, path)).replaceAll("\\", "/");
