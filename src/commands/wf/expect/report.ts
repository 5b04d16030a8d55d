import { relative, resolve } from "node:path";
import type { Host } from "../../../host/host.ts";
import { junitText } from "../../../lib/formats/junit.ts";
import { signsFor } from "../../../lib/environment.ts";
import type { CheckedExpectation } from "./run-scope.ts";

/** One line per check for the terminal: `✓ ok      run succeeded: it ended as succeeded`. */
export function checkLines(checked: readonly CheckedExpectation[], env: Host["env"]): string[] {
  const { pass, fail } = signsFor(env);
  return checked.map(({ name, result: { passed, actual } }) => {
    const verdict = passed ? `${pass}ok    ` : `${fail}failed`;
    return `${verdict}  ${name}: ${actual}`;
  });
}

/** The checks as JUnit XML. */
export const junitOf = (suite: string, checked: readonly CheckedExpectation[]): string =>
  junitText(
    suite,
    checked.map(({ name, result: { passed, actual, seconds } }) => ({
      name,
      seconds,
      failure: passed ? undefined : actual,
    })),
  );

/**
 * Failed checks as workflow commands of GitHub Actions, which shows them at their line of the file. A
 * runner also reads them from stderr.
 */
export function annotations(
  checked: readonly CheckedExpectation[],
  { env, cwd }: Pick<Host, "env" | "cwd">,
): string[] {
  return checked
    .filter(({ result }) => !result.passed)
    .map(({ name, from, result }) => {
      const place = from && {
        file: relative(env["GITHUB_WORKSPACE"] || cwd, resolve(cwd, from.path)),
        line: String(from.line),
      };
      const properties = Object.entries({ title: "Expectation not met", ...place })
        .map(([key, value]) => `${key}=${property(value)}`)
        .join(",");
      return `::error ${properties}::${data(`${name}: ${result.actual}`)}`;
    });
}

// Results have no control characters, but names of checks and files may.
const data = (text: string): string =>
  text
    .replaceAll("%", "%25")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, "\u{fffd}");

const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
