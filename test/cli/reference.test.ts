import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manPage } from "../../scripts/reference/man.ts";
import { referencePage } from "../../scripts/reference/markdown.ts";
import { root } from "../lib/paths.ts";

const docs = join(root, "docs");
const stored = (name: string) => readFileSync(join(docs, name), "utf8");
const hint = "the commands have changed: run `npm run reference`";

test("docs/reference.md is up to date", async () => {
  expect(stored("reference.md"), hint).toBe(await referencePage());
});

test.each(["kb", "wf"] as const)("docs/man/%s.1 is up to date", async (program) => {
  expect(stored(join("man", `${program}.1`)), hint).toBe(await manPage(program));
});

test("a command has its usage, arguments, effect, operation and examples", () => {
  const page = stored("reference.md");
  const section = page.slice(page.indexOf("### kb tag rename\n"));
  expect(section.slice(0, section.indexOf("\n### ", 1))).toMatch(
    new RegExp(
      [
        "### kb tag rename",
        "Rename a tag\\.",
        "```text\nkb tag rename <tag> <name> \\[flags\\]\n```",
        "\\| `<tag>` \\| Tag name or ID \\|",
        "\\| `<name>` \\| New name, unique in the workspace \\(1 to 50 characters\\) \\|",
        "- Effect: writes\n- Sends: `PATCH /datasets/tags` \\(updateKnowledgeTag\\)",
        "```sh\nkb tag rename draft published\n",
      ].join("[^]*?"),
    ),
  );
});

test("shared flags, exit codes and shared commands are listed once", () => {
  const page = stored("reference.md");
  for (const once of ["| `-o, --output <format>` |", "| 13 | Event stream", "### kb doctor\n"]) {
    expect(page.split(once)).toHaveLength(2);
  }
  expect(page).not.toContain("### wf doctor");
});

const shell = (line: string) => spawnSync("sh", ["-c", line], { cwd: docs, encoding: "utf8" });
const hasGroff = shell("command -v groff").status === 0;

test.runIf(hasGroff).each(["kb", "wf"] as const)(
  "docs/man/%s.1 renders without a warning",
  (program) => {
    const { status, stderr, stdout } = shell(`groff -man -Tascii -ww man/${program}.1`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const text = stdout.replace(/.[\b]/g, ""); // bold is a letter struck twice
    expect(text).toContain("EXIT STATUS");
    expect(text).toContain(`${program} login`);
  },
);
