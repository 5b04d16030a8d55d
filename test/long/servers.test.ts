/** The commands of both programs, played against a sandbox of each version (npm run servers). */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { beforeAll, expect, test } from "vitest";
import { sandboxParams } from "../../src/commands/shared/sandbox/command.ts";
import { appId } from "../../src/sandbox/protocol/ids.ts";
import { afterFile } from "../lib/cleanup.ts";
import { root } from "../lib/paths.ts";
import { compared, resend, type Ids, type Recording } from "../lib/replay.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

const apps = ["echo", "review", "chat", "convo", "llm-chat", "agent", "completion"];
/** Applications that only some versions have. */
const newApps = ["new-agent"];
const ownApps: Readonly<Record<string, readonly string[]>> = { "1.16": newApps, next: newApps };
const flags = [...apps, ...newApps]
  .map((name) => `--app=${name}`)
  .concat("--pipeline=Files", "--pipeline=Website");
const file = join(root, "test", "recordings", "applications", "llm-chat.json");
/** The addresses of the sandboxes, by version. */
let sandboxes: ReadonlyMap<string, string>;
let folder: string;

async function startSandbox(version: string): Promise<readonly [string, string]> {
  const line = ["kb", "sandbox", "--ephemeral", "--app-file", file, "--server", version];
  const [own, stop] = [await temporaryDirectory(), new AbortController()];
  const url = await new Promise<string>((onOutput) => {
    const ended = cli([...line, "-o", "name"], { folder: own, signal: stop.signal, onOutput });
    afterFile(() => (stop.abort(), ended));
  });
  return [version, new URL(url).origin];
}

beforeAll(async () => {
  sandboxes = new Map(await Promise.all(sandboxParams.server.choices.map(startSandbox)));
  folder = await temporaryDirectory();
  // The newest server is played with one key for everything (server §2.2).
  const keysOf = (version: string) => {
    const isNext = version === "next";
    const names = [...apps, ...(ownApps[version] ?? [])];
    const keyOf = (name: string) => (isNext ? { app_id: appId(name) } : { key: `app-${name}` });
    return {
      ...(isNext ? { access_token: { key: "sk-all" } } : { key: "dataset-sandbox" }),
      apps: Object.fromEntries(names.map((name) => [name, keyOf(name)])),
    };
  };
  const stored = [...sandboxes].map(([name, at]) => [
    name,
    { base_url: `${at}/v1`, ...keysOf(name) },
  ]);
  const text = JSON.stringify({ profiles: Object.fromEntries(stored) });
  writeFileSync(join(folder, "profiles.json"), text, { mode: 0o600 });
});

async function play(words: readonly string[]): Promise<{ code: number; out: string }> {
  const env = { ...process.env, KB_CONFIG_DIR: folder, KB_NO_KEYRING: "1" };
  const child = spawn(process.execPath, [join(root, "scripts", "servers.mjs"), ...words], { env });
  let out = "";
  child.stdout.on("data", (piece) => (out += piece));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code: code ?? -1, out })));
}

async function read(url: string, key = "dataset-sandbox"): Promise<unknown> {
  return (await fetch(url, { headers: { Authorization: `Bearer ${key}` } })).json();
}

test("each version works or refuses as documented, and nothing is left", async () => {
  const names = [...sandboxes.keys()];
  const { code, out } = await play([...names.map((name) => `--profile=${name}`), ...flags]);
  expect(out.match(/^[a-z]\w+( +(works|refused §19|untried))+$/gim), out).toHaveLength(82);
  expect(out).toMatch(/^updateDocument .* refused §19 /m);
  for (const [name, origin] of sandboxes) {
    expect(out.split(`\n${name}: untried: `).length - 1).toBe(name === "1.12" ? 8 : 1);
    // The API cannot remove the conversation of a generated text.
    const counts = { datasets: 2, documents: 0, conversations: 1 };
    expect(await read(`${origin}/_sandbox/health`)).toMatchObject({ counts });
    expect(await read(`${origin}/v1/datasets/tags`)).toEqual([]);
    const annotations = await read(`${origin}/v1/apps/annotations`, "app-llm-chat");
    expect(annotations).toMatchObject({ total: 0 });
  }
  expect(code).toBe(0);
});

test("a difference is reported, and its recording can be replayed", async () => {
  const [origin, saved] = [sandboxes.get("1.14") ?? "", join(folder, "saved")];
  const faults = `${origin}/_sandbox/faults`;
  await fetch(faults, { method: "POST", body: "PATCH /datasets/tags status=500" });
  const { code, out } = await play(["--profile=1.14", `--save=${saved}`]);
  await fetch(faults, { method: "DELETE" });
  expect(out.match(/^.* differs$/gm)).toEqual([expect.stringMatching(/^updateKnowledgeTag /)]);
  expect(code).toBe(1);
  const text = readFileSync(join(saved, "1.14.json"), "utf8");
  expect(text).not.toContain("dataset-sandbox");
  const [ids, found]: [Ids, string[][]] = [new Map(), []];
  for (const exchange of (JSON.parse(text) as Recording).exchanges)
    found.push(compared(exchange, await resend(exchange, origin, ids), ids));
  expect(found).toEqual([[], [expect.stringMatching(/^status: recorded 500, here 200 /)]]);
});
