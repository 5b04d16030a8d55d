import { expect, test } from "vitest";
import type { Feature } from "../../src/commands/task/command-spec.ts";
import { loadAll } from "../../src/commands/task/command-spec.ts";
import { kb } from "../../src/commands/kb.ts";
import { sharedFeatures } from "../../src/commands/shared.ts";
import { wf } from "../../src/commands/wf.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { operations } from "../../src/operations/index.ts";

const all = { kb: await commandsOf("kb"), wf: await commandsOf("wf") };
const rowsWith = (key: "dataset" | "app") => operations.filter((row) => row.key === key);
const tasksOf = async (features: readonly Feature[]) =>
  (await loadAll(features)).filter((each) => "load" in each);
const shared = await tasksOf(sharedFeatures);
const declared = {
  kb: [...rowsWith("dataset"), ...(await tasksOf(kb.features)), ...shared],
  wf: [...rowsWith("app"), ...(await tasksOf(wf.features)), ...shared],
};
const programs = ["kb", "wf"] as const;

test.each(programs)("every row and task of %s is a command", (program) => {
  const names = all[program].map(({ words }) => words.join(" "));
  const wanted = declared[program].flatMap(({ command }) => {
    const words = command?.replace(/ [<[].*/, "").replace(/^(?!kb |wf )/, `${program} `);
    return words === undefined ? [] : [words];
  });
  expect([...names].sort()).toEqual([...wanted].sort());
});

test.each(programs)("a first word of %s loads its commands, in the same order", async (program) => {
  for (const word of new Set(all[program].map(({ words }) => words[1]))) {
    const names = (await commandsOf(program, word)).map(({ words }) => words.join(" "));
    const wanted = all[program].filter(({ words }) => words[1] === word);
    expect(names, word).toEqual(wanted.map(({ words }) => words.join(" ")));
  }
});

test("a word that no command has loads all of them", async () => {
  expect((await commandsOf("kb", "--quiet")).length).toBe(all.kb.length);
});
