/** The pages of all commands: valid, and made of nothing but our own markup. */
import { beforeAll, describe, expect, test } from "vitest";
import { commandPages, markup } from "../lib/command-pages.ts";
import { evil } from "../lib/hostile-responses.ts";
import { invalidParts, openedPage, textsOf } from "../lib/opened-page.ts";
import { sampled } from "../lib/sampled.ts";

const commands = [
  "wf timeline",
  "wf diff",
  "wf stats",
  "wf test run",
  "kb eval",
  "kb verify",
  "kb lint",
] as const;

const hostile = markup + evil;
let plain: ReadonlyMap<string, string> = new Map();
let attacked: ReadonlyMap<string, string> = new Map();

beforeAll(async () => {
  plain = await commandPages("");
  attacked = await commandPages(hostile);
});

/** All elements and attributes that a page may have. */
const elements =
  "a body button caption dd del details div dl dt figcaption figure footer g h1 h2 h3 head header html input ins kbd label li main meta nav output p path pre rect script section span strong style summary svg table tbody td th thead time title tr ul";
const attributes =
  "aria-controls aria-expanded aria-hidden aria-label aria-pressed charset class colspan content d data-label data-marks data-sort data-value datetime height href http-equiv id lang name open placeholder preserveAspectRatio role scope tabindex type viewBox width x y";

describe.each(sampled(2, commands))("%s", (command) => {
  test("has a valid page", async () => {
    expect(await invalidParts(plain.get(command) ?? "")).toEqual([]);
    expect(await invalidParts(attacked.get(command) ?? "")).toEqual([]);
  });

  test("makes no element, attribute or script of text from outside", () => {
    const html = attacked.get(command) ?? "";
    expect(html.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}]/u);
    const window = openedPage(html, true);
    const all = [...window.document.querySelectorAll("*")];
    const found = (names: readonly string[], known: string) =>
      [...new Set(names)].filter((name) => !known.split(" ").includes(name));
    expect(
      found(
        all.map(({ tagName }) => tagName.toLowerCase()),
        elements,
      ),
    ).toEqual([]);
    expect(found(all.flatMap(namesOfAttributes), attributes)).toEqual([]);
    expect(window.document.querySelectorAll("script, style")).toHaveLength(2);
    expect(window.document.title).not.toBe("owned");
    const links = all.map((each) => each.getAttribute("href") ?? "#");
    expect(links.filter((to) => !to.startsWith("#"))).toEqual([]);
  });

  test("keeps such text readable", () => {
    const [text = ""] = textsOf(openedPage(attacked.get(command) ?? ""), "main");
    // A file name has no slash, and is shorter.
    expect(text).toContain(
      command === "kb lint" ? "<img src=x onerror=" : `${markup}␛]0;evil␇␛[2J<U+009B>2J`,
    );
  });
});

const namesOfAttributes = (element: { attributes: Iterable<{ name: string }> }): string[] =>
  [...element.attributes].map(({ name }) => name);

test("rows unfold what other formats have no room for", () => {
  const labels = (command: string) => [
    ...new Set(textsOf(openedPage(plain.get(command) ?? ""), ".block > h3")),
  ];
  expect(labels("wf timeline")).toEqual(["inputs", "outputs", "error"]);
  expect(labels("wf diff")).toEqual(
    expect.arrayContaining(["a: error", "b: inputs", "b: outputs"]),
  );
  expect(labels("wf test run")).toEqual(["inputs", "answer (2 of 2 runs)", "checks"]);
  expect(labels("kb eval")).toEqual(["expected", "found chunks"]);
  expect(labels("wf stats")).toEqual([]);
});

test("the result of the command stands above the tables", () => {
  const verdicts = commands.map((command) =>
    textsOf(openedPage(plain.get(command) ?? ""), ".verdict").join(),
  );
  expect(verdicts).toEqual([
    "",
    expect.stringMatching(/^the runs differ in status, path/),
    expect.stringContaining("failed>1%"),
    expect.stringMatching(/^1 test failed/),
    "",
    expect.stringMatching(/^\d+ differences?; compared 2 and 1 documents/),
    "2 files: 3 errors, 0 warnings",
  ]);
});

test("an evaluation has misses first, and the chunks without scores that say nothing", () => {
  const window = openedPage(plain.get("kb eval") ?? "");
  expect(textsOf(window, ".marked > tbody > tr:first-child > th")).toEqual(["train", "leave"]);
  expect(textsOf(window, "#row-train .block:first-child tbody tr")).toEqual([
    "leavemissing",
    "not theremissing",
  ]);
  expect(textsOf(window, "#row-train .block:last-child tr")).toEqual([
    "documentexpectedchunk",
    "travelnoTravel by train",
  ]);
});

test("titles are nouns", () => {
  const titles = commands.map((command) => textsOf(openedPage(plain.get(command) ?? ""), "h1"));
  expect(titles.flat().map((title) => title.replace(/ \/.*/, ""))).toEqual([
    "Timeline of",
    "Comparison of",
    "Statistics",
    "Test report",
    "Evaluation of Handbook",
    "Comparison of Handbook and Copy",
    "Check of files in",
  ]);
});
