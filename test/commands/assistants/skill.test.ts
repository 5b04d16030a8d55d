import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const install = (directory: string, ...flags: string[]) =>
  cli(["kb", "skill", "install", directory, ...flags, "-o", "json"]);

test("a skill is written as a directory of its name, and again only where it differs", async () => {
  const directory = await temporaryDirectory();
  const { out, err } = await install(directory);
  const first = JSON.parse(out) as { file: string; action: string }[];
  expect(err).toBe(`the skill is in ${join(directory, "kb-wf")}\n`);
  expect(first.map(({ action }) => action)).toEqual(Array(5).fill("written"));
  const skill = readFileSync(join(directory, "kb-wf", "SKILL.md"), "utf8");
  const [, head = ""] = skill.split("---\n");
  const { name, description } = parse(head) as { name: string; description: string };
  expect(name).toBe("kb-wf");
  expect(description.length).toBeLessThanOrEqual(1024); // agents load it at each start
  const links = [...skill.matchAll(/\]\(([^)]+)\)/g)].map(([, path = ""]) => path);
  expect(links.sort()).toEqual([
    "references/commands.md",
    "references/exit-codes.md",
    "references/jobs.md",
    "references/patterns.md",
  ]);
  for (const path of links) expect(existsSync(join(directory, "kb-wf", path)), path).toBe(true);
  const second = JSON.parse((await install(directory)).out) as { action: string }[];
  expect(second.map(({ action }) => action)).toEqual(Array(5).fill("unchanged"));
});

test("a file with other content is kept unless --overwrite is given", async () => {
  const directory = await temporaryDirectory();
  await install(directory);
  const skill = join(directory, "kb-wf", "SKILL.md");
  writeFileSync(skill, "mine");
  const refused = await install(directory);
  expect(refused).toMatchObject({ exit: 2 });
  expect(refused.err).toContain("already exists with other content");
  expect(readFileSync(skill, "utf8")).toBe("mine");
  expect((await install(directory, "--overwrite")).exit).toBe(0);
  expect(readFileSync(skill, "utf8")).toMatch(/^---\nname: kb-wf\n/);
});

test("a directory that is a file is named", async () => {
  const directory = await temporaryDirectory();
  const file = join(directory, "skills");
  writeFileSync(file, "");
  const { exit, err } = await install(file);
  expect(exit).not.toBe(0);
  expect(err).toContain(file);
});
