import { expect, test } from "vitest";
import { checkPage, consoleLines, runnablePages } from "../lib/pages.ts";
import { create, runInSandbox } from "../lib/recipes.ts";

test.each(runnablePages)("the commands of %s print what it shows", checkPage);

/** Commands that need a terminal or a browser. */
const interactive = /^(kb|wf) (login|open|top|chat$|run$|doc (delete|edit)|chunk edit)/;

test("no command of the page for users of the console is incomplete", async () => {
  const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
  const lines = consoleLines
    .filter((line) => !interactive.test(line))
    .map((line) => line.replace(/\b(RUN|CONVERSATION)\b/, id))
    .map((line) => (line.startsWith("wf retry ") ? `${line} --yes` : line));
  const files = ["cp -r examples/handbook examples/questions.jsonl .", "cp handbook/leave.md ."];
  const script = [
    ...files,
    "printf 'query\\nhello\\n' > questions.csv",
    `${create} > id.txt && kb pull Handbook > handbook.yml`,
    ...lines.map((line) => `${line} < /dev/null > out.txt 2>&1; echo "$? ${line}"`),
  ];
  const { out } = await runInSandbox(script.join("\n"), "-c");
  const ended = out.split("\n").filter((text) => /^\d+ (kb|wf) /.test(text));
  expect(ended).toHaveLength(lines.length);
  expect(ended.filter((text) => text.startsWith("2 "))).toEqual([]);
});
