import { errorText } from "../../../src/cli/errors/error-text.ts";
import { CliError } from "../../../src/errors.ts";
import type { FailureKind } from "../../../src/errors.ts";
import { visible } from "../../../src/output/table/display-width.ts";

/** What acts on a terminal, or makes a text look like another one: all but line ends. */
const acting = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u;

/** Throws where a text that goes to a terminal would act on it. */
export function isSafe(text: string): void {
  const found = acting.exec(text);
  if (!found) return;
  const code = found[0].charCodeAt(0).toString(16);
  throw new Error(`U+${code} reaches the terminal: ${JSON.stringify(text.slice(0, 200))}`);
}

/** What a reader gives; undefined where it refuses in one of these ways, in words that can be shown. */
export async function readOr<T>(
  kinds: readonly FailureKind[],
  read: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    refusedAs(kinds, error);
    return undefined;
  }
}

/** The same for a reader that waits for nothing. */
export function readOrUsage<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    refusedAs(["usage"], error);
    return undefined;
  }
}

function refusedAs(kinds: readonly FailureKind[], error: unknown): void {
  if (!(error instanceof CliError)) throw error;
  if (!kinds.includes(error.kind)) throw new Error(`it ends as ${error.kind}`, { cause: error });
  isTold(error);
}

/** Throws where an error would act on the terminal on which it is told. */
export const isTold = (error: CliError): void =>
  isSafe(
    errorText(error, {
      json: false,
      color: false,
      verbosity: 0,
      visible,
      escaped: (json) => json,
    }),
  );

/** Throws where two values differ. */
export function areEqual(actual: unknown, expected: unknown): void {
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`it gives ${one?.slice(0, 500)}, not ${other?.slice(0, 500)}`);
}
