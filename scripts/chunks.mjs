// The chunks of the bundle: each holds the modules of these files and directories of src and what
// they import, unless an earlier chunk has it. All else is a chunk of its own, loaded when needed.
// Reading thirty small files would cost more than the rest of a start.
import { fileURLToPath } from "node:url";

/** The module with the rows of a noun. */
const rowsOf = (noun) => `operations/${noun}.ts`;

/** Name of a chunk and its paths below src; a directory ends with a slash. */
export const chunks = [
  // All that --version and --help need, and what comes before everything else is loaded.
  ["ready", ["lib/version.ts", "lib/json.ts", "host/runtime.ts", "host/node-output.ts"]],
  [
    "core",
    [
      "cli/run.ts",
      "host/node-host.ts",
      "cli/parse/parser.ts",
      "output/style.ts",
      "output/display-width.ts",
      "output/text-width.ts",
      "operations/shared.ts",
      "lib/collect.ts",
      "lib/command-line.ts",
      "lib/numbers.ts",
      "lib/json.ts",
      "lib/did-you-mean.ts",
      // What the declarations of several features need.
      "commands/task/command-spec.ts",
    ],
  ],
  ["knowledge", ["operations/knowledge.ts"]],
  ["documents", ["operations/documents.ts"]],
  ["chunks", ["operations/chunks.ts"]],
  // Names of all nouns are looked up, whatever the command.
  ["kb-rows", ["metadata", "pipeline", "tags"].map(rowsOf)],
  ["wf-rows", ["annotations", "apps", "chats", "files", "forms", "workflows"].map(rowsOf)],
  ["groups", ["cli/help/groups.ts"]], // completion needs them without the help pages
  ["help", ["cli/help/topic.ts"]],
  ["execute", ["cli/execute/execute.ts", "config/", "lib/backoff.ts"]],
  ["client", ["api/send.ts"]],
  ["output", ["output/print/print.ts"]],
  ["live", ["output/live/event-printer.ts"]],
  // With the part of undici that it loads.
  ["agent", ["host/dispatcher.ts"]],
];

/** Packages that belong to a chunk. */
export const packages = [
  ["core", /node_modules\/(commander|fastest-levenshtein)\//],
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
