import { relative, resolve } from "node:path";
import type { Host } from "../../../host/host.ts";
import type { Check, CheckResult } from "./check.ts";
import { junitText } from "../../../lib/junit.ts";

/** A check with what became of it. */
export interface CheckedExpectation {
  readonly check: Check;
  readonly finding: CheckResult;
}

/** One line per check, for people: `✓ ok      run succeeded: it ended as succeeded`. */
export function checkLines(checked: readonly CheckedExpectation[], env: Host["env"]): string[] {
  const plain = !showsSigns(env);
  return checked.map(({ check, finding: { passed, actual } }) => {
    const sign = plain ? "" : passed ? "✓ " : "✗ ";
    return `${sign}${passed ? "ok    " : "failed"}  ${check.name}: ${actual}`;
  });
}

/** Signs beyond ASCII are left out where they may not be there. */
function showsSigns(env: Host["env"]): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return !env["KB_ACCESSIBLE"] && env["TERM"] !== "dumb" && !/^(C|POSIX)$/.test(locale);
}

/** The checks as JUnit XML. */
export const junitOf = (suite: string, checked: readonly CheckedExpectation[]): string =>
  junitText(
    suite,
    checked.map(({ check, finding: { passed, actual, seconds } }) => ({
      name: check.name,
      seconds,
      failure: passed ? undefined : actual,
    })),
  );

/**
 * Failed checks as commands to GitHub Actions, which shows them beside the line of the file that
 * they come from. A runner reads them from standard error as well.
 */
export function annotations(
  checked: readonly CheckedExpectation[],
  { env, cwd }: Pick<Host, "env" | "cwd">,
): string[] {
  return checked
    .filter(({ finding }) => !finding.passed)
    .map(({ check, finding }) => {
      const place = check.from && {
        file: relative(env["GITHUB_WORKSPACE"] || cwd, resolve(cwd, check.from.path)),
        line: String(check.from.line),
      };
      const properties = Object.entries({ title: "Expectation not met", ...place })
        .map(([name, value]) => `${name}=${property(value)}`)
        .join(",");
      return `::error ${properties}::${data(`${check.name}: ${finding.actual}`)}`;
    });
}

// Findings hold no control characters; names of checks and files are the user's own.
const data = (text: string): string =>
  text
    .replaceAll("%", "%25")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, "\u{fffd}");

const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
