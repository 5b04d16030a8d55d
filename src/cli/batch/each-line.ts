import type { RowAttempt, RowEnd } from "../../commands/batch/index.ts";
import { usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { requireNear } from "../../host/safe-path.ts";
import { sourcesOf } from "../parse/input.ts";
import type { Globals } from "../parse/shared-flags.ts";
import type { TypedLine } from "../parse/typed-values.ts";
import type { Sources } from "../parse/values.ts";

/** A command line with `--each`. */
export interface EachLine {
  /** Path of the file of rows, `-` for stdin. */
  readonly each: string;
  readonly typed: Readonly<Record<string, TypedLine>>;
  readonly globals: Globals;
}

/** Outcome of one row. */
export interface RowOutcome {
  readonly row: number;
  readonly status: RowEnd;
  readonly id: string | null;
  readonly error: string | null;
}

/** A row that was sent, with its outcome. */
export const ended = (
  row: number,
  status: RowEnd,
  id: string | null,
  error: string | null = null,
): RowAttempt<RowOutcome> => ({ end: status, id, result: { row, status, id, error } });

/** What values of the command line may read, not stdin if it has the rows, and what those of rows may. */
export function rowSources(each: string, host: Host, globals: Globals) {
  const line = sourcesOf(each === "-" ? withoutStdin(host) : host, globals);
  const naming = { file: each, allowed: globals.allowFiles ?? [] };
  const near =
    <T>(read: (path: string) => Promise<T>) =>
    async (path: string) => {
      if (path !== "-") await requireNear(path, naming, host);
      return read(path);
    };
  const cells: Sources = { ...line, text: near(line.text), file: near(line.file) };
  return { line, cells };
}

const withoutStdin = (host: Host): Host => ({
  ...host,
  stdin: {
    isTTY: host.stdin.isTTY,
    bytes() {
      throw usage("stdin (-) has the rows and can only be used once");
    },
  },
});
