import { suiteKeys } from "../../src/commands/measure/suite-file/keys.ts";
import { suiteSchema } from "../../src/commands/measure/suite-file/schema.ts";

/** The keys of a suite as a table in Markdown, with the places where each may stand. */
export const suiteKeyTable = (): string =>
  [
    "| Key | Where | Meaning |",
    "| --- | --- | --- |",
    ...suiteKeys.map(
      ({ name, where, description }) => `| \`${name}\` | ${where.join(", ")} | ${description} |`,
    ),
  ].join("\n");

/** examples/suite.schema.json. */
export const schemaFile = (): string => `${JSON.stringify(suiteSchema(), null, 2)}\n`;
