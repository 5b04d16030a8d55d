import { sum } from "../numbers.ts";
import { visible } from "../text.ts";

/** One test case; it passed if there is no `failure` and no `error`, and it was not skipped. */
export interface JUnitCase {
  readonly name: string;
  readonly seconds?: number | undefined;
  /** Why it failed; the first line is the summary. */
  readonly failure?: string | undefined;
  /** Why it could not be decided. */
  readonly error?: string | undefined;
  /** Whether it does not count, or why. */
  readonly skipped?: boolean | string;
}

/** Test cases under the name of their suite. */
export interface JUnitSuite {
  readonly name: string;
  readonly cases: readonly JUnitCase[];
}

/** A test suite as JUnit XML. */
export const junitText = (suite: string, cases: readonly JUnitCase[]): string =>
  junitSuites(undefined, [{ name: suite, cases }]);

/** Test suites as JUnit XML; `name` is that of the whole. */
export function junitSuites(name: string | undefined, suites: readonly JUnitSuite[]): string {
  const named = name === undefined ? "" : `name="${escapeXml(name)}" `;
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites ${named}${countsOf(suites.flatMap(({ cases }) => cases))}>`,
    ...suites.flatMap(suiteLines),
    "</testsuites>",
    "",
  ].join("\n");
}

const suiteLines = ({ name, cases }: JUnitSuite): string[] => [
  `  <testsuite name="${escapeXml(name)}" ${countsOf(cases)}>`,
  ...cases.map((each) => caseText(name, each)),
  "  </testsuite>",
];

function countsOf(cases: readonly JUnitCase[]): string {
  const count = (is: (each: JUnitCase) => boolean) => cases.filter(is).length;
  const skipped = count((each) => Boolean(each.skipped));
  return [
    `tests="${cases.length}"`,
    `failures="${count(({ failure }) => failure !== undefined)}"`,
    `errors="${count(({ error }) => error !== undefined)}"`,
    ...(skipped > 0 ? [`skipped="${skipped}"`] : []),
    `time="${sum(cases.map(({ seconds = 0 }) => seconds)).toFixed(3)}"`,
  ].join(" ");
}

function caseText(suite: string, { name, seconds = 0, ...ends }: JUnitCase): string {
  const head = `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(name)}" time="${seconds.toFixed(3)}"`;
  const problem = (kind: "failure" | "error", text: string) =>
    `${head}>\n      <${kind} message="${escapeXml(text.split("\n", 1)[0] ?? "")}">${escapeXml(text)}</${kind}>\n    </testcase>`;
  if (ends.failure !== undefined) return problem("failure", ends.failure);
  if (ends.error !== undefined) return problem("error", ends.error);
  if (!ends.skipped) return `${head}/>`;
  const why = ends.skipped === true ? "" : ` message="${escapeXml(ends.skipped)}"`;
  return `${head}>\n      <skipped${why}/>\n    </testcase>`;
}

/** What stands for characters in XML and HTML. */
export const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "\n": "&#10;",
};

/** Escapes text for XML content and attributes; characters that XML does not allow become visible ones. */
const escapeXml = (text: string): string =>
  visible(text, { newlines: true }).replace(/[&<>"\n]/g, (found) => entities[found] ?? "");
