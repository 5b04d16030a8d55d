import { join } from "node:path";
import { CliError, diskProblem, reasonOf, usage } from "../../../../errors.ts";
import { safePath } from "../../../../host/safe-path.ts";
import type { ServerEvent } from "../../../../lib/server-event.ts";
import type { RunTrace } from "../../../../runs/trace.ts";
import type { Context } from "../../../task/command-spec.ts";
import { endOfError, endOfRun, RecordingLines } from "../../../wf/recording/index.ts";
import type { PlannedRun } from "./plan-runs.ts";

/** Which runs are recorded, where, and whether with the texts. */
interface KeepInput {
  readonly keep?: "failed" | "all" | undefined;
  readonly keep_to?: string | undefined;
  readonly redact?: boolean | undefined;
}

const DEFAULT_DIRECTORY = "wf-test-recordings";

/** The recordings of a command's runs. */
export type Keeper = NonNullable<Awaited<ReturnType<typeof openKeeper>>>;

/** Opens the directory of --keep, if any, and checks that it can be written, before anything is asked. */
export async function openKeeper(input: KeepInput, context: Context) {
  const { keep, keep_to: directory = DEFAULT_DIRECTORY, redact = false } = input;
  if (keep === undefined) {
    const flag = input.redact ? "--redact" : "--keep-to";
    if (redact || input.keep_to !== undefined)
      throw usage(`${flag} requires --keep`, "add --keep failed, or --keep all");
    return undefined;
  }
  if (!context.options.dryRun) await checkDirectory(directory, context);
  const nameOf = uniqueNames();
  let problem: CliError | undefined;
  const write = async (path: string, text: string): Promise<string[]> => {
    try {
      await context.host.files.writeAtomic(path, text);
      return [path];
    } catch (error) {
      if (problem) return [];
      const message = `failed to write the recording ${path}: ${reasonOf(error)}`;
      problem = new CliError("failure", message, { sideEffect: "applied", isResult: true });
      await context.notice(`${message}; further ones are not reported`);
      return [];
    }
  };
  return {
    /** Records one run of a test; its events are written once it is known whether they are kept. */
    tape: (run: PlannedRun) =>
      openTape(join(directory, nameOf(run)), { keep, redact, write, context }),
    /** The first error of writing a recording. */
    get problem() {
      return problem;
    },
  };
}

/** Writes as much as a recording takes, and removes it again. */
async function checkDirectory(directory: string, { host: { files } }: Context): Promise<void> {
  const path = join(directory, ".wf-test");
  try {
    await files.writeAtomic(path, " ".repeat(CHECK_BYTES));
    await files.remove(path);
  } catch (error) {
    const kind = diskProblem(error)?.kind ?? "usage";
    throw new CliError(kind, `--keep: failed to write to ${directory}: ${reasonOf(error)}`, {
      sideEffect: "none",
      hint: "choose another directory with --keep-to DIR",
      cause: error,
    });
  }
}

const CHECK_BYTES = 64 * 1024;

/** Characters of a file name before its number. */
const MAX_NAME = 60;

/** `Handbook-days-of-leave-2`: safe on every system, and another one for each run. */
function uniqueNames(): (run: PlannedRun) => string {
  const names = new Map<string, string>();
  const used = new Set<string>();
  return ({ name: whole, repeat }) => {
    const words = whole.replace(/[^\p{L}\p{M}\p{N}._]+/gu, "-").replace(/^[-.]+/, "");
    const plain = safePath(
      [...words]
        .slice(0, MAX_NAME)
        .join("")
        .replace(/(?<![-.])[-.]+$/, ""),
    );
    let name = names.get(whole) ?? plain;
    for (let number = 2; !names.has(whole) && used.has(name.toLowerCase()); number++)
      name = `${plain}~${number}`;
    names.set(whole, name);
    used.add(name.toLowerCase());
    return `${name}-${repeat}`;
  };
}

interface TapeOptions {
  readonly keep: "failed" | "all";
  readonly redact: boolean;
  readonly write: (path: string, text: string) => Promise<string[]>;
  readonly context: Context;
}

/** The recordings of one run of a test, one for each turn. */
export type Tape = ReturnType<typeof openTape>;

/** They are in memory: only the end of the run tells whether they are kept. */
function openTape(stem: string, { keep, redact, write, context }: TapeOptions) {
  const turns: { readonly lines: RecordingLines; text: string; ended: boolean }[] = [];
  return {
    /** Takes the events of a turn, from 0, as they arrive; `again`: those so far do not count. */
    add(turn: number, events: readonly ServerEvent[] | "again"): void {
      if (events === "again") return void delete turns[turn];
      const lines = new RecordingLines(redact, context);
      const tape = (turns[turn] ??= { lines, text: "", ended: false });
      tape.text += tape.lines.next(events);
    },
    /** The answer to a turn is complete. */
    async endTurn(turn: number, { status, error }: RunTrace): Promise<void> {
      const tape = turns[turn];
      if (!tape) return;
      tape.text += tape.lines.end(await endOfRun({ status, error }));
      tape.ended = true;
    },
    /** Writes the files if such runs are kept. Returns their paths. */
    async keep(passed: boolean): Promise<readonly string[]> {
      if (keep === "failed" && passed) return [];
      const paths: string[] = [];
      for (const [index, tape] of turns.entries()) {
        if (!tape || tape.lines.isEmpty) continue;
        if (!tape.ended) tape.text += tape.lines.end(endOfError(new CliError("cut", "")));
        const turn = turns.length > 1 ? `-turn${index + 1}` : "";
        paths.push(...(await write(`${stem}${turn}.jsonl`, tape.text)));
      }
      return paths;
    },
  };
}
