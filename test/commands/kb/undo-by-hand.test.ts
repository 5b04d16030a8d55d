/** An undo drops no chunks that somebody made since: it names them, and changes nothing. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import { killer } from "../../lib/killed-at.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400 });
const home = await temporaryDirectory();

/** A knowledge base whose document a command has replaced or created, with a directory of its own. */
async function changedBase(name: string, moment: Moment) {
  const folder = join(home, name);
  const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder });
  const done = async (...argv: string[]) =>
    (await server.done(["kb", ...argv], { folder })).out.trim();
  await done("create", name, "--indexing-technique", "economy");
  await done("doc", "add", name, "other.md", "--text", "Other");
  const add = (text: string, ...flags: string[]) =>
    done("doc", "add", name, "a.md", "--text", text, ...flags);
  const through = moment === "unread" ? ["--base-url", await indexedLate()] : [];
  const undo = () => kb("undo", "-y", ...through);
  const backup = ["--backup-dir", join(folder, "backups")];
  if (moment !== "unread") {
    await add("Before");
    await done("doc", "wait", name);
    await add("After", ...backup);
  } else await add("After", ...backup, ...through);
  await done("doc", "wait", name);
  if (moment === "continued") {
    const isWrite = (step: string) => /^(POST|PATCH|DELETE) /.test(step) && !step.endsWith("zip");
    await killer(server)(isWrite, ["kb", "undo", "-y"], folder);
  }
  const contents = () => done("chunk", "list", name, "a.md", "--all", "--jq", ".[].content");
  return { kb, done, contents, undo };
}

/** A server on which a document is being indexed again when the snapshot after a command is taken. */
const indexedLate = (): Promise<string> => {
  let lists = 0;
  return alteringProxy(server.sandbox.origin, ({ method, path, json }) => {
    if (method !== "GET" || !/\/documents(\?|$)/.test(path)) return;
    const { data } = json as { data: Record<string, unknown>[] };
    if (data.some(({ name }) => name === "a.md") && ++lists === 2)
      for (const row of data) Object.assign(row, { indexing_status: "indexing" });
  });
};

type Moment = (typeof moments)[number];
const moments = ["continued", "unread", "whole"] as const;
const changes = {
  added: (name: string) => ["chunk", "add", name, "a.md", "--content", "By hand"],
  edited: (name: string, chunk: string) => [
    "chunk",
    "update",
    name,
    "a.md",
    chunk,
    "--content",
    "By hand",
  ],
} as const;
const rows = ["finished", "disabled", "stuck"].flatMap((status) =>
  (["added", "edited"] as const).flatMap((change) =>
    moments.map((moment) => [moment, status, change] as const),
  ),
);

test.each(sampled(5, rows))(
  "%s, of a document that is %s, a chunk %s since is named, and stays",
  async (moment, status, change) => {
    const name = `${moment} ${status} ${change}`;
    const { done, contents, undo } = await changedBase(name, moment);
    const [first = ""] = (await done("chunk", "list", name, "a.md", "-o", "name")).split("\n");
    await done(...changes[change](name, first));
    if (status === "disabled") await done("doc", "disable", name, "a.md");
    if (status === "stuck") {
      const document = await done("doc", "show", name, "a.md", "--jq", ".id");
      const body = JSON.stringify({ document, status: "indexing" });
      await fetch(`${server.sandbox.origin}/_sandbox/abandon`, { method: "POST", body });
    }
    const before = await contents();
    expect(before).toContain("By hand");
    const from = server.seen.length;
    const ran = await undo();
    const number = change === "added" ? 2 : 1;
    const named = moment === "whole" ? "chunks" : `chunk ${number} (${change})`;
    expect([ran.exit, ran.err]).toEqual([5, expect.stringContaining("nothing was undone")]);
    expect(ran.out).toMatch(/^conflict\tdocument\ta\.md\tchanged since: /);
    expect(ran.out).toContain(named);
    const written = server.seen
      .slice(from)
      .filter(({ method, path }) => method !== "GET" && !path.endsWith("zip"));
    expect(written).toEqual([]);
    expect(await contents()).toBe(before);
  },
);

test.each(moments)("%s, without a change since, the command is taken back", async (moment) => {
  const { kb, contents, undo } = await changedBase(moment, moment);
  const ran = await undo();
  expect(ran.exit, ran.err + ran.out).toBe(0);
  expect(ran.out).not.toContain("chunks: 0 changed");
  if (moment === "unread") expect((await kb("doc", "show", moment, "a.md")).exit).toBe(3);
  else expect(await contents()).toBe("Before");
});
