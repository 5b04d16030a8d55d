import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RawHost } from "../../../src/host/host.ts";
import { readApplications } from "../../../src/sandbox/apps/definitions/applications.ts";
import { sandboxApps } from "../../../src/config/profiles.ts";
import { inSandbox } from "../../lib/in-sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

type Environment = RawHost["env"];

/** The JSON response to GET with the key of KB_KEY. */
async function get({ KB_BASE_URL, KB_KEY }: Environment, path: string): Promise<unknown> {
  const headers = { Authorization: `Bearer ${KB_KEY}` };
  return (await fetch(`${KB_BASE_URL}${path}`, { headers })).json();
}

test.each([
  [[], [{ provider: "langgenius/stub/stub" }]],
  [["--without-models"], []],
])("the models of kb sandbox %j", async (flags, data) => {
  const models: unknown[] = [];
  const ran = await inSandbox(flags, async (env) => {
    models.push(await get(env, "/workspaces/current/models/model-types/llm"));
  });
  expect(ran).toEqual({ exit: 0, out: "", err: "" });
  expect(models).toMatchObject([{ data }]);
});

test("the command gets the addresses and keys of the sandbox, and no others", async () => {
  const seen: Environment[] = [];
  const keys = {
    KB_KEY: "dataset-secret-0123",
    KB_APP: "support",
    KB_APP_KEY: "app-secret-0123",
    DIFY_API_KEY: "app-other-0123",
    DIFY_BASE_URL: "https://example.com/v1",
  };
  const ran = await inSandbox([], async (env) => void seen.push(env), { env: keys });
  expect(ran.exit).toBe(0);
  const { KB_BASE_URL = "", KB_SANDBOX_APP_KEYS = "", ...env } = seen[0] ?? {};
  expect(KB_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  expect(env).toMatchObject({
    KB_KEY: "dataset-sandbox",
    KB_PROFILE: "sandbox",
    DIFY_BASE_URL: KB_BASE_URL,
    DIFY_API_URL: KB_BASE_URL,
    DIFY_API_KEY: "app-echo",
  });
  expect([env["KB_APP"], env["KB_APP_KEY"]]).toEqual([undefined, undefined]);
  expect(JSON.parse(KB_SANDBOX_APP_KEYS)).toMatchObject({ echo: "app-echo", loop: "app-loop" });
});

test("a shell on a terminal has a prompt that tells where it is", async () => {
  const prompts: unknown[] = [];
  const see = (env: Environment) => void prompts.push(env["PS1"]);
  await inSandbox([], async (env) => see(env), { tty: true });
  await inSandbox([], async (env) => see(env));
  expect(prompts).toEqual(["(sandbox) $ ", undefined]);
});

test("the built-in profile knows every application of the sandbox", () => {
  expect([...sandboxApps].sort()).toEqual([...readApplications().keys()].sort());
});

test("--log writes a line for each request, without keys, queries and bodies", async () => {
  const file = join(await temporaryDirectory(), "requests.jsonl");
  const ran = await inSandbox(["--seed", "3", "--log", file], async (env) => {
    await get(env, "/datasets?keyword=private");
    await get({ ...env, KB_KEY: env["DIFY_API_KEY"] }, "/info");
    await get(env, "/datasets/nothing/documents").catch(() => "a page");
  });
  expect(ran).toEqual({ exit: 0, out: "", err: "" });
  const common = { method: "GET", ms: 0, app: null, dataset: null };
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    { ...common, time: "2026-01-01T00:00:01.000Z", path: "/v1/datasets", status: 200 },
    { ...common, time: "2026-01-01T00:00:02.000Z", path: "/v1/info", status: 200, app: "echo" },
    {
      ...common,
      time: "2026-01-01T00:00:03.000Z",
      path: "/v1/datasets/nothing/documents",
      status: 404,
    },
  ]);
});

test("--log - writes to stdout; a file that cannot be written is reported once", async () => {
  const requests = async (env: Environment) => {
    await get(env, "/datasets");
    await get(env, "/datasets");
  };
  const { out } = await inSandbox(["--log", "-"], requests);
  expect(out.trim().split("\n")).toHaveLength(2);
  const directory = await temporaryDirectory();
  const { exit, err } = await inSandbox(["--log", directory], requests);
  expect(exit).toBe(0);
  expect(err).toMatch(/^--log: failed to write .*: .* directory.*\n$/);
});

test.each([
  [["--seed", "1", "--data", "x"], "error: --data and --ephemeral cannot be used together\n"],
  [["--seed", "-1"], /^error: --seed /],
  [["--host", "203.0.113.9"], /^error: --host: 203.0.113.9 is not an address of this machine\n/],
])("kb sandbox --ephemeral %j is rejected", async (flags, message) => {
  const { exit, err } = await inSandbox(flags, () => Promise.reject(new Error("started")));
  expect(exit).toBe(2);
  expect(err).toMatch(message);
});

test("--seed requires --ephemeral", async () => {
  const { exit, err } = await cli(["kb", "sandbox", "--seed", "1"]);
  expect(exit).toBe(2);
  expect(err).toMatch(/^error: --seed requires --ephemeral\n/);
});

test("--allow-host is repeatable", async () => {
  const statuses: number[] = [];
  const flags = ["--allow-host", "kb-sandbox", "--allow-host", "other:80"];
  await inSandbox(flags, async ({ KB_BASE_URL = "" }) => {
    const { host, port } = new URL(KB_BASE_URL);
    for (const name of [host, "kb-sandbox:1", "other:80", "other:81"])
      statuses.push(await statusFor(Number(port), name));
  });
  expect(statuses).toEqual([200, 200, 200, 403]);
});

/** The status of the sandbox's health with this Host. */
const statusFor = (port: number, Host: string) =>
  new Promise<number>((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: "/_sandbox/health", headers: { Host } };
    const outgoing = request(options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
