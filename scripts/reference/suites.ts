import { suiteKeys } from "../../src/commands/measure/suite-file/keys.ts";
import { suiteSchema } from "../../src/commands/measure/suite-file/schema.ts";

const head = "| Key | Where | Meaning |\n|---|---|---|\n";

/** docs/test-suites.md with the table of the keys of a suite. */
export function withSuiteKeys(page: string): string {
  const start = page.indexOf(head) + head.length;
  const end = page.indexOf("\n\n", start) + 1;
  const rows = suiteKeys.map(
    ({ name, where, description }) => `| \`${name}\` | ${where.join(", ")} | ${description} |\n`,
  );
  return page.slice(0, start) + rows.join("") + page.slice(end);
}

/** examples/suite.schema.json. */
export const schemaFile = (): string => `${JSON.stringify(suiteSchema(), null, 2)}\n`;
