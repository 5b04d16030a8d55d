import { expect, test } from "vitest";
import { commandOf } from "../../src/cli/parse/command.ts";
import { typedValues } from "../../src/cli/parse/parser.ts";
import { task } from "../../src/commands/task/command-spec.ts";
import { local, noContent, query } from "../../src/operations/operation.ts";

const command = commandOf({
  ...task({
    command: "kb try <name> [more...]",
    action: "try",
    summary: "Try",
    params: {
      name: local.text("Name"),
      more: local.text("More"),
      created_at__before: local.text("Before", { flag: "until" }),
      page_size: local.text("Size", { orFile: true }),
      no_wait: local.flag("Do not wait"),
      include_all: query.flag("All"),
    },
    returns: noContent,
    sends: [],
    effect: "reads",
    examples: [],
  }),
  load: () => Promise.reject(new Error("not loaded")),
});

test.each<[string, unknown[], Record<string, unknown>, Record<string, unknown>]>([
  ["positionals", ["a", ["b", "c"]], {}, { name: "a", more: ["b", "c"] }],
  ["an empty list of positionals is absent", ["a", []], {}, { name: "a" }],
  ["a flag in camel case", ["a"], { pageSize: "9" }, { name: "a", page_size: "9" }],
  ["a -file form", ["a"], { pageSizeFile: "x" }, { name: "a", page_size: { file: "x" } }],
  ["a flag named no-…", ["a"], { wait: false }, { name: "a", no_wait: true }],
  ["a negated flag", ["a"], { includeAll: false }, { name: "a", include_all: false }],
  ["defaults of commander are absent", ["a"], { wait: true }, { name: "a" }],
])("%s", (_, args, options, values) => {
  expect(typedValues(command, args, options)).toEqual(values);
});

test.each([
  [{ pageSize: "9", pageSizeFile: "x" }, "use either --page-size or --page-size-file, not both"],
])("%j: two values for one parameter", (options, message) => {
  expect(() => typedValues(command, ["a"], options)).toThrow(message);
});
