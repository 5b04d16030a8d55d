import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { killer, nth, requests } from "../../lib/killed-at.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const source = join(home, "source");
const killedAt = killer(server);

const kb = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });

await kb("create", "Source", "--indexing-technique", "economy");
await kb("doc", "add", "Source", "a.md", "--text", "text a");
await kb("doc", "add", "Source", "b/b.md", "--text", "text b");
await kb("doc", "wait", "Source");
await kb("metadata", "create", "Source", "team", "--type", "string");
await kb("metadata", "set", "Source", "a.md", "--set", "team=x");
await kb("doc", "disable", "Source", "a.md");
await kb("tag", "create", "tagged");
await kb("tag", "bind", "Source", "tagged");
await kb("export", "Source", source);

/** Repeats a killed command. */
async function repeated(argv: readonly string[], folder: string) {
  const { exit, err } = await server.cli(argv, { folder });
  expect(exit, err).toBe(0);
  for (const part of ["state/imports", "cache/copies"])
    if (existsSync(join(folder, part))) expect(await readdir(join(folder, part))).toEqual([]);
}

/** There is one knowledge base of the name, and it has everything once. */
async function requireCopy(name: string): Promise<void> {
  await kb("verify", source, `name:${name}`);
  const tags = await kb("tag", "bound", `name:${name}`, "-o", "name");
  expect(tags.out.split("\n").length, name).toBe(2);
}

const commands = {
  import: (name: string) => ["kb", "import", source, "--name", name],
  copy: (name: string) => ["kb", "copy", "Source", "--name", name],
};
const counts = { import: 10, copy: 18 };
const moments = (["import", "copy"] as const).flatMap((command) =>
  Array.from({ length: counts[command] }, (_, at) => [command, at + 1] as const),
);

test.each(sampled(6, moments))(
  "%s killed while it waits for response %i is continued",
  async (command, number) => {
    const name = `${command} ${number}`;
    const folder = join(home, name);
    const rest = await killedAt(nth(number, requests), commands[command](name), folder);
    await (await rest?.())?.body.dump();
    await repeated(commands[command](name), folder);
    await requireCopy(name);
  },
);

test("the numbers of requests above are all there are", async () => {
  for (const command of ["import", "copy"] as const) {
    const before = server.seen.length;
    await server.done(commands[command](`all of ${command}`), { folder: home });
    const sent = server.seen.slice(before).map(({ method, path }) => `${method} ${path}`);
    // How often documents are listed until they are indexed depends on the machine.
    const repeats = (request: string, index: number) =>
      request.startsWith("GET ") && request === sent[index - 1];
    const once = sent.filter((request, index) => !repeats(request, index));
    expect(once).toHaveLength(counts[command]);
  }
});

test.each(["import", "copy"] as const)(
  "%s killed while it cleans up is continued",
  async (command) => {
    for (const number of command === "import" ? [1] : [1, 2]) {
      const name = `${command} end ${number}`;
      const folder = join(home, name);
      const isCleanUp = nth(number, /^remove .*(copies|imports)\/[0-9a-f]+(\.json)?$/);
      expect(await killedAt(isCleanUp, commands[command](name), folder)).toBeDefined();
      await repeated(commands[command](name), folder);
      await requireCopy(name);
    }
  },
);

test("import finds the knowledge base that the server creates late for a killed one", async () => {
  const folder = join(home, "late");
  const argv = commands.import("late");
  const rest = await killedAt(nth(1, /^POST .*\/datasets$/), argv, folder);
  const isCreate = nth(1, /^POST .*\/datasets$/);
  const again = await server.cli(argv, {
    folder,
    around: (host) => ({
      ...host,
      async dispatcher(options) {
        const dispatcher = await host.dispatcher(options);
        const request = async (given: { method: string; path: string }) => {
          if (isCreate(`${given.method} ${given.path}`)) await (await rest?.())?.body.dump();
          return dispatcher.request(given as never);
        };
        return Object.assign(Object.create(dispatcher) as typeof dispatcher, { request });
      },
    }),
  });
  expect(again.exit, again.err).toBe(0);
  await requireCopy("late");
});

test.each(sampled(3, [6, 5, 4, 3, 2, 1]))(
  "export killed while it waits for response %i is continued",
  async (number) => {
    const directory = join(home, `export ${number}`);
    const argv = ["kb", "export", "Source", directory];
    await killedAt(nth(number, requests), argv, home);
    await repeated(argv, home);
    expect(await readdir(directory)).toEqual(["chunks", "documents", "manifest.json"]);
    await kb("verify", directory, "Source");
  },
);

test("of two imports into one knowledge base at once, one works and nothing is doubled", async () => {
  await kb("create", "Into", "--indexing-technique", "economy");
  const argv = ["kb", "import", source, "--into", "Into"];
  const ran = await Promise.all([1, 2].map(() => server.cli(argv, { folder: home })));
  expect(ran.map(({ exit }) => exit).toSorted(), ran.map(({ err }) => err).join("\n")).toEqual([
    0, 1,
  ]);
  expect(ran.find(({ exit }) => exit === 1)?.err).toMatch(
    /^error: another command is importing into Into, pid \d+/,
  );
  await kb("verify", source, "Into");
});

test("an export that fails at its start leaves no directory, and an empty one of others", async () => {
  const [made, own] = [join(home, "new"), join(home, "own")];
  await mkdir(own);
  server.sandbox.setFaults([parseFault("GET */metadata status=403")]);
  for (const directory of [made, own])
    expect((await server.cli(["kb", "export", "Source", directory], { folder: home })).exit).toBe(
      4,
    );
  server.sandbox.setFaults([]);
  expect(existsSync(made)).toBe(false);
  expect(await readdir(own)).toEqual([]);
});
