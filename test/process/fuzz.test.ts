/** A slice of test/long/fuzz.test.ts, and what it has found. */
import { expect, test } from "vitest";
import { fuzz } from "../lib/fuzzing/fuzz.ts";
import { grammars } from "../lib/fuzzing/grammars.ts";
import { printing } from "../lib/fuzzing/printing.ts";
import { readers } from "../lib/fuzzing/readers.ts";
import { sampled } from "../lib/sampled.ts";

test.each(sampled(6, grammars).map((each) => [each.name, each] as const))(
  "%s: whatever is typed has a value or is refused",
  async (_name, target) => void (await fuzz(target, 1, 500)),
);

test.each(sampled(3, readers).map((each) => [each.name, each] as const))(
  "%s: whatever stands there is read or refused",
  async (_name, target) => void (await fuzz(target, 1, 75)),
);

test.each(sampled(5, printing).map((each) => [each.name, each] as const))(
  "%s: nothing acts on a terminal, and a pipe gets all",
  async (_name, target) => void (await fuzz(target, 1, 75)),
);

const targets = [...grammars, ...readers, ...printing];

/** Inputs that were read wrongly once; in bytes of latin-1 where the target reads bytes. */
test.each([
  ["values of flags", "9999999999930s"],
  ["values of flags", "-99999999999999d"],
  ["paths of --body-set", "a.4294967294=1"],
  ["paths of --body-set", "a.0.length=4294967296"],
  ["patterns of --match", "*********a*]"],
  ["patterns of --match", "**/**/**/**/**/**/**/x"],
  ["faults of the sandbox", "* *a*a*a*a*a*a*a*a*a*b reset"],
  ["names of documents as paths", "\u009b31m"],
  ["names of documents as paths", "a\u202egnp.exe"],
  ["names of documents as paths", "CON .txt"],
  ["names of documents as paths", `CON${" ".repeat(300)}c`],
  ["names of documents as paths", "n\ufeff."],
  ["names of documents as paths", "\u6f22".repeat(200)],
  ["event streams", "data\r\r"],
  ["event streams", "data: \r\rx"],
  ["event streams", "\u00c3\u00af\u00c2\u00bb\u00c2\u00bfdata: {}\n\n"],
  ["error bodies", '{"errors": {"name": {"toString": 1}}}'],
  ["CSV and JSON Lines", "}\r\r\n"],
  ["files of knowledge bases", "retrieval_model:\n *a"],
  ["files of knowledge bases", `tags: ${"[".repeat(3000)}`],
  ["front matter and names of synced files", "---\n*a\n..."],
  ["profile files", "true"],
  ["profile files", '{"default":"a"}'],
  ["manifests of exports", '{"kb_export":1,"sum":"x"}'],
  ["responses in every format", '""{{"x""=cmd()""\\r""#x: y","status":\u007f'],
])("%s: %j, which was found once", async (name, text) => {
  const target = targets.find((each) => each.name === name);
  const input = readers.some((each) => each === target) ? Buffer.from(text, "latin1") : text;
  expect(targets.map((each) => each.name)).toContain(name);
  await target?.holds(input as never); // what such a target reads
});
