// The chunks of the bundle: each holds the modules of these files and directories of src and what
// they import, unless an earlier chunk has it. All else is a chunk of its own, loaded when needed.
// Reading thirty small files would cost more than the rest of a start.
import { fileURLToPath } from "node:url";

/** Name of a chunk and its paths below src; a directory ends with a slash. */
export const chunks = [
  [
    "core",
    [
      "cli/run.ts",
      "cli/parse/parser.ts",
      "commands/shared/specs.ts",
      "output/terminal.ts",
      "output/formats-list.ts",
      "cli/help/topic.ts",
      "lib/collect.ts",
      "lib/attempt.ts",
      "lib/backoff.ts",
    ],
  ],
  ["kb", ["operations/kb.ts", "commands/kb/specs.ts"]],
  ["wf", ["operations/wf.ts", "commands/wf/specs.ts"]],
  ["print-error", ["cli/errors/print-error.ts"]],
  ["execute", ["cli/execute/execute.ts", "config/"]],
  ["client", ["api/"]],
  ["output", ["output/print.ts", "output/table/", "output/live/"]],
];

/** Packages that belong to a chunk. */
export const packages = [
  ["core", /node_modules\/(commander|leven)\//],
  ["client", /node_modules\/eventsource-parser\//],
  ["conf", /node_modules\/conf\//],
];

/** A module's ID with slashes: on Windows, they are backslashes. */
const withSlashes = (id) => `${id}`.replaceAll("\\", "/");
const source = withSlashes(fileURLToPath(new URL("../src/", import.meta.url)));

/** Groups for `output.codeSplitting` of rolldown. */
export const groups = [
  ...chunks.map(([name, paths]) => ({
    name,
    test: (id) => paths.some((path) => withSlashes(id).startsWith(source + path)),
  })),
  ...packages.map(([name, test]) => ({ name, test })),
];
