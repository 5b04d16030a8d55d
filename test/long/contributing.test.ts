/** The recipes of CONTRIBUTING.md, followed to the letter in a copy of the project. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** The blocks of code below a heading of the page, by language, without their indentation. */
function blocksOf(heading: string): Readonly<Record<string, readonly string[]>> {
  const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  const blocks = [...own.matchAll(/^( *)```(\w+)\n(.*?)^ *```$/gms)].map(
    ([, indent = "", language = "", text = ""]) =>
      [language, text.replaceAll(new RegExp(`^${indent}`, "gm"), "")] as const,
  );
  return Object.fromEntries(
    blocks.map(([language]) => [
      language,
      blocks.filter(([other]) => other === language).map(([, text]) => text),
    ]),
  );
}

/** A copy of what git has of the project, with the installed packages. */
async function copyOfProject() {
  const copy = await temporaryDirectory();
  const listed = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const paths = execFileSync("git", listed, { cwd: root, encoding: "utf8" }).trim().split("\n");
  for (const path of paths)
    cpSync(join(root, path), join(copy, path), { preserveTimestamps: true });
  mkdirSync(join(copy, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules")).filter((each) => each !== ".cache"))
    symlinkSync(join(root, "node_modules", name), join(copy, "node_modules", name));
  return {
    append: (path: string, text: string) => appendFileSync(join(copy, path), `\n${text}`),
    create: (path: string, text: string) => writeFileSync(join(copy, path), text),
    /** Inserts a text below the only line that begins so. */
    insert(path: string, start: string, text: string) {
      const lines = readFileSync(join(copy, path), "utf8").split("\n");
      const at = lines.findIndex((line) => line.startsWith(start));
      expect(at, `${path}: ${start}`).toBeGreaterThan(-1);
      writeFileSync(join(copy, path), lines.toSpliced(at + 1, 0, text.trimEnd()).join("\n"));
    },
    replace(path: string, from: string, to: string) {
      const text = readFileSync(join(copy, path), "utf8");
      expect(text).toContain(from);
      writeFileSync(join(copy, path), text.replace(from, to));
    },
    /** Runs the lines of a block; returns the processor time of the last one, in seconds, and what it printed. */
    run(block = "") {
      let seconds = 0;
      let output = "";
      for (const line of block.trim().split("\n")) {
        const timed = `${line}\nresult=$?\ntimes >&2\nexit $result`;
        const ran = spawnSync(timed, { cwd: copy, encoding: "utf8", shell: true });
        expect(ran.status, `${line}\n${ran.stdout}${ran.stderr}`).toBe(0);
        // The last line is the time of the processes that the shell has started: 0m1.5s 0m0.2s
        const times = ran.stderr.trimEnd().split("\n").at(-1)?.split(" ") ?? [];
        const parts = times
          .flatMap((time) => time.split("m"))
          .map((part) => Number.parseFloat(part));
        seconds = parts.reduce((sum, part, at) => sum + (at % 2 === 0 ? 60 * part : part), 0);
        output = stripVTControlCharacters(ran.stdout);
      }
      return { seconds, output };
    },
    /** Runs the check; returns what it prints about each part that fails. */
    failures(): Partial<Record<string, string>> {
      const { stdout } = spawnSync("npm run check", { cwd: copy, encoding: "utf8", shell: true });
      const parts = stdout.split(/^(\w+) … /m).slice(1);
      const pairs = parts.flatMap((name, at) => (at % 2 === 0 ? [[name, parts[at + 1]]] : []));
      return Object.fromEntries(pairs.filter(([, text]) => text !== "ok\n"));
    },
  };
}

test("an operation needs what its recipe says, and no more", async () => {
  const copy = await copyOfProject();
  const { ts, json, text, sh } = blocksOf("Add an operation");
  copy.append("src/operations/tags.ts", ts?.[0] ?? "");
  copy.replace("src/operations/tags.ts", "noContent,", "noContent, path,");
  const { types, table } = copy.failures();
  expect(types).toContain("src/sandbox/knowledge/tags.ts");
  expect(types).toContain("Property 'showTag' is missing");
  expect(table?.trim().split("\n").slice(1)).toEqual([
    "test/wire/getKnowledgeTag.json: no such file",
    "scripts/servers/steps.md: no step plays kb tag show, and no reason says why",
  ]);
  copy.create("test/wire/getKnowledgeTag.json", json?.[0] ?? "");
  const [handler = ""] = blocksOf("Add a sandbox handler")["ts"] ?? [];
  copy.insert("src/sandbox/knowledge/tags.ts", "export const tagHandlers", handler);
  copy.insert("scripts/servers/steps.md", "| createKnowledgeTag |", text?.[0] ?? "");
  const { seconds, output } = copy.run(sh?.[0]);
  expect(output).toMatch(/Test Files +5 passed \(5\)/); // a file without a test of the row is skipped
  expect(seconds).toBeLessThan(60); // half a minute of two processors
});

test("a command needs what its recipe says, and no more", async () => {
  const copy = await copyOfProject();
  const { ts = [], text, sh } = blocksOf("Add a command");
  const [declaration = "", code = "", list = "", itsTest = ""] = ts;
  const feature = "src/commands/kb/documents";
  copy.append(`${feature}/command.ts`, declaration);
  copy.create(`${feature}/summary.ts`, code);
  const [line = ""] = list.match(/^ +docSummary.*$/m) ?? [];
  copy.insert("src/commands/kb.ts", '  tasks("doc cat"', line);
  copy.insert("scripts/servers/steps.md", "| listDocuments | kb doc list", text?.[0] ?? "");
  copy.create("test/commands/kb/doc-summary.test.ts", itsTest);
  copy.run(sh?.[0]);
});

test("a file of rows that no list has is found", async () => {
  const copy = await copyOfProject();
  const [row = ""] = blocksOf("Add an operation")["ts"] ?? [];
  const imports = `import { kbOperation, path, record } from "./operation.ts";
import { required } from "./shared.ts";
import type { Tag } from "./tags.ts";
`;
  copy.create("src/operations/archives.ts", `${imports}\n${row}`);
  const { table } = copy.failures();
  expect(table).toContain(
    "src/operations/index.ts: showTag of archives.ts is in no list of rows\n",
  );
  const listed = '  rows("archive", () => import("../operations/archives.ts")),';
  copy.insert("src/commands/kb.ts", "const features: ", listed);
  expect(copy.failures()["types"]).toContain("src/commands/kb.ts");
});
