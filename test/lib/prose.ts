// Everything that people read in this project, line by line: strings and comments of the source,
// titles of tests, pages.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Visitor, parseSync } from "rolldown/utils";
import { root } from "./paths.ts";

/** One line of prose. */
export interface Prose {
  /** Path from the project's root. */
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Files below a directory with one of these endings; without recordings. */
const filesIn = (directory: string, ending: RegExp): string[] =>
  readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name).replaceAll("\\", "/"))
    .filter((name) => ending.test(name) && !/^test\/(recordings|wire)\//.test(name));

/** Comments and strings of the source, without texts of one word. */
export const sourceProse = (): Prose[] => sourceTexts(true);

/** Strings of the source, without texts of one word. */
export const sourceStrings = (): Prose[] => sourceTexts(false);

const sourceTexts = (withComments: boolean): Prose[] =>
  filesIn("src", /\.(ts|mjs)$/).flatMap((file) => stringsIn(file, withComments));

/** Titles of tests and comments beside them. */
export const testProse = (): Prose[] => filesIn("test", /\.ts$/).flatMap(titlesAndComments);

/** The pages, help topics and examples of the project, without the changes of earlier versions. */
export const pageProse = (): Prose[] =>
  [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    ...filesIn("docs", /\.(md|1)$/),
    ...filesIn("src", /\.(md|bash|fish|ps1|zsh)$/),
    ...filesIn("examples", /\.(md|sh|yml|yaml)$/),
  ].flatMap((file) => numbered(file, readFileSync(join(root, file), "utf8"), 1));

const numbered = (file: string, text: string, first: number): Prose[] =>
  text.split("\n").map((line, index) => ({ file, line: first + index, text: line.trim() }));

function parse(file: string, withComments = true) {
  const text = readFileSync(join(root, file), "utf8");
  const { program, comments } = parseSync(file, text);
  const prose: Prose[] = [];
  const add = (offset: number, words: string) =>
    prose.push(...numbered(file, words, text.slice(0, offset).split("\n").length));
  if (withComments) for (const { start, value } of comments) add(start, value);
  return { program, prose, add };
}

function stringsIn(file: string, withComments: boolean): Prose[] {
  const { program, prose, add } = parse(file, withComments);
  const see = (offset: number, words: unknown) => {
    if (typeof words === "string" && /\s/.test(words)) add(offset, words);
  };
  new Visitor({
    Literal: (node) => see(node.start, node.value),
    TemplateElement: (node) => see(node.start, node.value.cooked),
  }).visit(program);
  return prose;
}

function titlesAndComments(file: string): Prose[] {
  const { program, prose, add } = parse(file);
  new Visitor({
    CallExpression(node) {
      const [title] = node.arguments;
      if (!/^(test|it|describe)\b/.test(calleeName(node.callee))) return;
      if (title?.type === "Literal" && typeof title.value === "string") {
        add(title.start, title.value);
      }
    },
  }).visit(program);
  return prose;
}

/** `test` of `test(…)`, `test.each(…)(…)` and `test.skipIf(…)(…)`. */
function calleeName(callee: object): string {
  const node = callee as { type: string; name?: string; object?: object; callee?: object };
  if (node.type === "Identifier") return node.name ?? "";
  return calleeName(node.object ?? node.callee ?? { type: "Identifier" });
}
