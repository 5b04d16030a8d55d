import { errorText } from "../../../src/cli/errors/error-text.ts";
import { CliError } from "../../../src/errors.ts";
import type { FailureKind } from "../../../src/errors.ts";

/** Characters that control a terminal or disguise text, except line ends. */
const acting = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u;

/** Throws if a text contains characters that control a terminal. */
export function isSafe(text: string): void {
  const found = acting.exec(text);
  if (!found) return;
  const code = found[0].charCodeAt(0).toString(16);
  throw new Error(`U+${code} reaches the terminal: ${JSON.stringify(text.slice(0, 200))}`);
}

/** The result of a reader, or undefined if it throws one of these errors with a printable message. */
export async function readOr<T>(
  kinds: readonly FailureKind[],
  read: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    expectError(kinds, error);
    return undefined;
  }
}

/** The same for a synchronous reader. */
export function readOrUsage<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    expectError(["usage"], error);
    return undefined;
  }
}

function expectError(kinds: readonly FailureKind[], error: unknown): void {
  if (!(error instanceof CliError)) throw error;
  if (!kinds.includes(error.kind))
    throw new Error(`unexpected error: ${error.kind}`, { cause: error });
  isTold(error);
}

/** Throws if an error message contains characters that control a terminal. */
export const isTold = (error: CliError): void =>
  isSafe(
    errorText(error, {
      json: false,
      color: false,
      columns: Infinity,
      verbosity: 0,
    }),
  );

/** Throws if two values differ. */
export function areEqual(actual: unknown, expected: unknown): void {
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`got ${one?.slice(0, 500)}, expected ${other?.slice(0, 500)}`);
}
