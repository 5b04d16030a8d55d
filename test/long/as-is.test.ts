import { join } from "node:path";
import { expect, test } from "vitest";
import { formsOfChunks, handEditedBase } from "../lib/as-is-bases.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { importWithKill } from "../lib/sync-kills.ts";

const home = await temporaryDirectory();
const servers = {
  "1.14.2": await testSandbox({ speed: 200, models: true }),
  "1.16.1": await testSandbox({ speed: 200, models: true, server: "1.16.1" }),
};
const every = (["1.14.2", "1.16.1"] as const).flatMap((version) =>
  formsOfChunks.map((form) => [version, form[0], form] as const),
);

test.each(every)(
  "%s, %s: 300 questions find the same chunks before and after a copy as is",
  async (version, name, form) => {
    const { done } = servers[version];
    const target = `${name} asked`;
    await handEditedBase(servers[version], target, form, 100);
    await done(["kb", "copy", target, "--name", `${target} copy`, "--as-is", "-y"], {
      folder: home,
    });
    await done(["kb", "verify", target, `${target} copy`, "--chunks"]);
    const found = async (kb: string, question: string) =>
      (await done(["kb", "search", kb, question, "--top-k", "5", "--jq", ".[].segment.content"]))
        .out;
    let hits = 0;
    for (let at = 0; at < 300; at++) {
      const question = at < 100 ? `subject${at + 1}` : `Rule ${at % 100} since year${at - 99}`;
      const before = await found(target, question);
      expect(await found(`${target} copy`, question), question).toBe(before);
      hits += before === "" ? 0 : 1;
    }
    expect(hits).toBeGreaterThan(250);
  },
);

test.each(every.filter(([, name]) => name === "questions" || name === "parents"))(
  "%s, %s: an import and a copy as is that are killed after a number of requests continue",
  async (version, name, form) => {
    const server = servers[version];
    const source = `${name} killed`;
    await handEditedBase(server, source, form, 2);
    const bundle = join(home, version, source);
    await server.done(["kb", "export", source, bundle]);
    for (const command of ["import", "copy"]) {
      const from = command === "import" ? bundle : source;
      const argv = [command, from, "--as-is", "-y"];
      let requests = 1;
      while (await importWithKill(server, home, { argv, source: from, requests })) requests += 3;
      expect(requests).toBeGreaterThan(10);
    }
  },
);
