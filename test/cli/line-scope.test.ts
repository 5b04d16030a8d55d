import { expect, test } from "vitest";
import { inScope, scopeIn } from "../../src/cli/errors/error-text.ts";
import type { Globals } from "../../src/cli/parse/shared-flags.ts";
import { commandLine, mapCommands } from "../../src/lib/command-line.ts";

const run = "c0f126ed-2ec8-46d1-89ce-d48201f5a6b7";
const base = "91e85bce-0000-4000-8000-000000000001";

test.each<readonly [parameters: Parameters<typeof commandLine>, shown: string]>([
  [["wf logs"], "`wf logs`"],
  [["kb show", ["Hand book"]], "`kb show 'Hand book'`"],
  [["kb show", ["it's"]], "`kb show 'it'\\''s'`"],
  [["kb show", ["a`b"]], "`kb show 'a`b'`"],
  [["kb show", ["-x.md"], { o: "json" }], "`kb show -o json -- -x.md`"],
  [["wf logs", [], { all: true, since: undefined }], "`wf logs --all`"],
  [
    ["wf form submit", ["t"], { action: "approve", input: ["a=1", "b=two words"] }],
    "`wf form submit t --action approve --input a=1 --input 'b=two words'`",
  ],
])("%j is shown as %s", (parameters, shown) => {
  expect(commandLine(...parameters)).toBe(shown);
});

test.each([
  [commandLine("kb show", ["it's", "a`b"]), [["kb", "show", "it's", "a`b"]]],
  ["no command, `gh pr list`, `kbx list` or `--all`", []],
  [
    "`kb list` and `wf logs`",
    [
      ["kb", "list"],
      ["wf", "logs"],
    ],
  ],
  ["an open `kb show 'quote` is no command", []],
])("the words of commands in %s are read", (text, expected) => {
  const seen: (readonly string[])[] = [];
  const same = mapCommands(text, (words) => {
    seen.push(words);
    return words;
  });
  expect(same).toBe(text);
  expect(seen).toEqual(expected);
});

const scoped = (text: string, globals: Globals, names: Readonly<Record<string, string>> = {}) =>
  inScope(text, { globals, names: new Map(Object.entries(names)) });

test.each<readonly [text: string, globals: Globals, shown: string]>([
  [`\`wf show ${run}\``, { app: "broken" }, `\`wf show ${run} --app broken\``],
  ["see `kb list`", { profile: "my work" }, "see `kb list -p 'my work'`"],
  ["`kb list`", { app: "review" }, "`kb list`"], // kb takes no application
  [
    "`kb list`",
    { baseUrl: "http://10.0.0.1/v1", insecureHttp: true },
    "`kb list --base-url http://10.0.0.1/v1 --insecure-http`",
  ],
  [`\`wf events ${run}\``, { user: "ann" }, `\`wf events ${run} --user ann\``],
  ["`kb list`", { user: "ann" }, "`kb list`"],
  ["`kb api GET /x`", { caFile: "ca.pem" }, "`kb api GET /x --ca-file ca.pem`"],
  ["`kb show -- -x`", { profile: "a" }, "`kb show -p a -- -x`"],
  ["`kb list -p sandbox`", { profile: "a", baseUrl: "https://x/v1" }, "`kb list -p sandbox`"],
  ["`kb login work`", { profile: "a" }, "`kb login work`"],
  ["`kb help auth`", { profile: "a" }, "`kb help auth`"],
  ["`kb sandbox`", { baseUrl: "https://x/v1" }, "`kb sandbox`"],
  ["`kb list --help`", { profile: "a" }, "`kb list --help`"],
  ["`kb nonsense`", { profile: "a" }, "`kb nonsense`"],
  ["`wf logs export DIR`", { app: "a" }, "`wf logs export DIR --app a`"],
  ["`kb list`", { baseUrl: "https://name:secret@example.com/v1" }, "`kb list`"],
  ["no command", { profile: "a" }, "no command"],
  // Text of a server in a notice keeps its own quotes.
  ['`kb do "this" now`', { profile: "a" }, '`kb do "this" now`'],
])("%s on a line with %j is shown as %s", async (text, globals, shown) => {
  expect(await scoped(text, globals)).toBe(shown);
});

test("an ID is shown as the name that was entered", async () => {
  const names = { [base]: "Hand book", [run]: "-x" };
  expect(await scoped(`\`kb doc list ${base}\``, {}, names)).toBe("`kb doc list 'Hand book'`");
  expect(await scoped(`\`kb verify id:${base} DIR\``, {}, names)).toBe(
    "`kb verify 'Hand book' DIR`",
  );
  expect(await scoped(`\`wf show ${run}\``, {}, names)).toBe(`\`wf show ${run}\``); // would be a flag
  expect(await scoped(`ID ${base}`, {}, names)).toBe(`ID ${base}`);
});

test.each([
  ["kb -p staging search HB a b", { profile: "staging" }],
  [
    "kb search HB a b --profile=x --base-url https://y/v1",
    { profile: "x", baseUrl: "https://y/v1" },
  ],
  ["wf --app review chat send -- --app x", { app: "review" }],
  ["kb list --insecure-http", { insecureHttp: true }],
  ["kb list -p", {}],
])("the scope of the line %s that cannot be parsed", (line, expected) => {
  expect(scopeIn(line.split(" "))).toEqual(expected);
});
