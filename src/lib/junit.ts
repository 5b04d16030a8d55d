import { xml } from "./xml.ts";

/** One check of a suite; without `failure` it passed. */
export interface Case {
  readonly name: string;
  readonly seconds?: number | undefined;
  /** Why it failed, first line short. */
  readonly failure?: string | undefined;
}

/** A suite of checks as JUnit XML, as CI systems read it. */
export function junitText(suite: string, cases: readonly Case[]): string {
  const failed = cases.filter(({ failure }) => failure !== undefined).length;
  const seconds = cases.reduce((sum, each) => sum + (each.seconds ?? 0), 0);
  const counts = `tests="${cases.length}" failures="${failed}" errors="0" time="${seconds.toFixed(3)}"`;
  const lines = cases.map(({ name, seconds: time = 0, failure }) => {
    const head = `    <testcase classname="${xml(suite)}" name="${xml(name)}" time="${time.toFixed(3)}"`;
    if (failure === undefined) return `${head}/>`;
    const message = xml(failure.split("\n", 1)[0] ?? "");
    return `${head}>\n      <failure message="${message}">${xml(failure)}</failure>\n    </testcase>`;
  });
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites ${counts}>`,
    `  <testsuite name="${xml(suite)}" ${counts}>`,
    ...lines,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}
