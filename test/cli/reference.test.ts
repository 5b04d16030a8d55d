import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manPages } from "../../scripts/reference/man.ts";
import { llmsPage } from "../../scripts/reference/llms.ts";
import { referencePage } from "../../scripts/reference/markdown.ts";
import { skillPages } from "../../scripts/reference/skill.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { usageOf } from "../../src/cli/parse/command.ts";
import { root } from "../lib/paths.ts";

const docs = join(root, "docs");
const stored = (name: string) => readFileSync(join(docs, name), "utf8");
const hint = "the commands have changed: run `npm run reference`";

test("docs/reference.md is up to date", async () => {
  expect(stored("reference.md"), hint).toBe(await referencePage());
});

const manuals = await manPages();

test("manual pages have the day of their version", () => {
  expect(manuals.get("kb.1")).toMatch(/^\.TH KB 1 "2026-11-29" "kb-wf 0\.3\.0" "User Commands"\n/);
});

test("the pages of the skill are up to date", async () => {
  const references = join(root, "src", "commands", "assistants", "skill", "references");
  for (const [name, text] of await skillPages())
    expect(readFileSync(join(references, name), "utf8"), hint).toBe(text);
});

test("docs/llms.txt is up to date", () => {
  expect(stored("llms.txt"), "a page has changed: run `npm run reference`").toBe(llmsPage(root));
});

test("each command is described on one page: that of its program and first word", async () => {
  for (const program of ["kb", "wf"] as const) {
    for (const command of await commandsOf(program)) {
      const usage = roffText(usageOf(command));
      const pages = [...manuals].filter(([, text]) => lineOf(text).includes(usage));
      expect(pages.map(([name]) => name)).toEqual([`${program}-${command.words[1]}.1`]);
    }
  }
});

test("the overview of a program names the page of each of its commands", async () => {
  for (const program of ["kb", "wf"] as const) {
    const text = roffText(manuals.get(`${program}.1`) ?? "");
    for (const { words } of await commandsOf(program)) {
      expect(text).toContain(`\nfB${program}-${words[1]}(1)fR\n`);
    }
    expect(text.split("\n").length).toBeLessThan(200);
  }
});

/** Macros that the pages use, with the pattern of what follows them on the line. */
const macros: Readonly<Record<string, RegExp>> = {
  TH: /^ [A-Z\-\\]+ [17] "[\d-]{10}" "kb-wf [\d.]+" "[\w ]+"$/,
  SH: /^ [A-Z \-\\]+$/,
  SS: /^ (?:"[^"]+"|[A-Za-z ]+)$/,
  B: /^ (kb|wf)$/,
  TP: /^$/,
  PP: /^$/,
  RS: /^ 4$/,
  RE: /^$/,
  nf: /^$/,
  fi: /^$/,
  ad: /^ l$/,
  nh: /^$/,
};

test.each([...manuals])("%s is well formed", (name, text) => {
  const lines = text.trimEnd().split("\n");
  const open: string[] = [];
  for (const [index, line] of lines.entries()) {
    expect(line, name).toMatch(open.includes("nf") ? /^[\x20-\x7e]*$/ : /^[\x20-\x7e]+$/);
    // Every backslash starts an escape that roff knows.
    expect(
      line.replace(/\\(?:[e&:-]|\((?:aq|ga|ha|ti|dq)|f[BR]|\[u[0-9A-F]{4,5}\])/g, ""),
    ).not.toContain("\\");
    const [, macro, rest = ""] = /^\.(\w+)(.*)$/.exec(line) ?? [];
    if (!line.startsWith(".")) continue;
    expect(rest, line).toMatch(macros[macro ?? ""] ?? /no such macro/);
    if (macro === "TP") expect(lines[index + 1], line).toMatch(/^\\fB.*\\fR$/);
    if (macro === "nf" || macro === "RS") open.push(macro);
    if (macro === "fi") expect(open.pop()).toBe("nf");
    if (macro === "RE") expect(open.pop()).toBe("RS");
  }
  expect(open).toEqual([]);
  const sections = lines.filter((line) => line.startsWith(".SH ")).map((line) => line.slice(4));
  expect(sections).toEqual([...new Set(sections)]);
  for (const section of ["NAME", "COMMON FLAGS", "EXIT STATUS", "SEE ALSO"])
    expect(sections).toContain(section);
  const [line = ""] = lines.slice(lines.indexOf(".SH NAME") + 1);
  expect(line.replaceAll("\\-", "-")).toMatch(new RegExp(`^${name.replace(/\.\d$/, "")} - \\S`));
});

/** Roff with hyphens as they are printed, and with font changes as two letters. */
const roffText = (text: string) =>
  text.replaceAll("\\-", "-").replaceAll("\\fB", "fB").replaceAll("\\fR", "fR");
const lineOf = (text: string) =>
  roffText(text)
    .split("\n")
    .map((line) => line.replace(/^\.SS "|"$/g, ""));

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

const groff = (input: string) =>
  spawnSync("groff", ["-man", "-Tascii", "-ww"], { input, encoding: "utf8" });
const hasGroff = groff("").status === 0;

test.runIf(hasGroff).each([...manuals])("%s renders without a warning", (_, page) => {
  const { status, stderr, stdout } = groff(page);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const text = stdout.replace(/.[\b]/g, ""); // bold is a letter struck twice
  expect(text).toContain("EXIT STATUS");
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
});
