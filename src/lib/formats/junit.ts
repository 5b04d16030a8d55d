import { escapeXml } from "./xml.ts";

/** One test case; it passed if there is no `failure`. */
export interface JUnitCase {
  readonly name: string;
  readonly seconds?: number | undefined;
  /** Why it failed; the first line is the summary. */
  readonly failure?: string | undefined;
}

/** A test suite as JUnit XML. */
export function junitText(suite: string, cases: readonly JUnitCase[]): string {
  const failed = cases.filter(({ failure }) => failure !== undefined).length;
  const seconds = cases.reduce((sum, each) => sum + (each.seconds ?? 0), 0);
  const counts = `tests="${cases.length}" failures="${failed}" errors="0" time="${seconds.toFixed(3)}"`;
  const lines = cases.map(({ name, seconds: time = 0, failure }) => {
    const head = `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(name)}" time="${time.toFixed(3)}"`;
    if (failure === undefined) return `${head}/>`;
    const message = escapeXml(failure.split("\n", 1)[0] ?? "");
    return `${head}>\n      <failure message="${message}">${escapeXml(failure)}</failure>\n    </testcase>`;
  });
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites ${counts}>`,
    `  <testsuite name="${escapeXml(suite)}" ${counts}>`,
    ...lines,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}
