import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { onPty } from "../lib/pty.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { temporaryDirectory } from "../lib/support.ts";

// What a terminal of 80 columns and 24 rows shows during a sign-in.

/** A server as it is in production: it knows the keys dataset-good-0123 and app-good-0123. */
const server = await rawServer([
  (socket, request) => {
    const known = /authorization: Bearer (\w+)-good-0123\r/i.exec(request)?.[1];
    const isApp = request.startsWith("GET /v1/info");
    const version = { "x-version": "1.14.2" };
    const error = { code: "unauthorized", message: "Access token is invalid", status: 401 };
    const body = isApp ? { name: "Support", mode: "workflow" } : { data: [], total: 12 };
    const isKnown = known === (isApp ? "app" : "dataset");
    socket.end(http(isKnown ? 200 : 401, JSON.stringify(isKnown ? body : error), version));
  },
]);
const { host } = new URL(server.baseUrl);

/** Starts a program on a terminal of its own, with its own directory. */
async function terminal(program: "kb" | "wf", args: readonly string[], env = {}) {
  const home = await temporaryDirectory();
  const all = { HOME: home, NO_COLOR: "1", KB_CONFIG_DIR: home, KB_NO_KEYRING: "1", ...env };
  const shown = onPty(program, args, all);
  const asked: string[] = [];
  return {
    ...shown,
    home,
    /** Waits until the last line of the screen is a prompt, shown once more than before, and types. */
    async answer({ source }: RegExp, text: string) {
      asked.push(source);
      const times = asked.filter((each) => each === source).length;
      await shown.shows(new RegExp(`^([^]*${source}){${times}}\\s*$`));
      shown.type(`${text}\r`);
    },
    /** The screen with whole messages, and the directory and the port replaced. */
    screen: async () =>
      (await shown.lines())
        .join("\n")
        .replaceAll(/\n {4}(?=\S)/g, " ")
        .replaceAll(home, "HOME")
        .replaceAll(host, "HOST")
        .split("\n")
        .map((line) => line.trimEnd()),
    file: () => readFile(join(home, "profiles.json"), "utf8").catch(() => ""),
  };
}

const address = /Address of the server, such as dify\.example\.com:/;
const knowledgeKey = /Knowledge key \(dataset-… or sk-…, hidden\):/;
const place = "the web console has knowledge keys under Knowledge, Service API";

test("a bare host name is completed, and the key is checked", async () => {
  const login = await terminal("kb", ["login", "work"]);
  await login.answer(address, host);
  await login.answer(knowledgeKey, "dataset-good-0123");
  expect(await login.exit).toBe(0);
  expect(await login.screen()).toEqual([
    "Address of the server, such as dify.example.com: HOST",
    "base URL http://HOST/v1",
    place,
    "Knowledge key (dataset-… or sk-…, hidden):",
    "the keyring is not available (KB_NO_KEYRING is set): the key is stored in HOME/profiles.json, readable only by you",
    "✓ work: server 1.14.2, this key opens 12 knowledge bases",
  ]);
  expect(JSON.parse(await login.file())).toEqual({
    default: "work",
    profiles: { work: { base_url: server.baseUrl, key: "dataset-good-0123" } },
  });
});

test("wrong replies are explained, and asked for again", async () => {
  const login = await terminal("kb", ["login", "work"]);
  await login.answer(address, "127.0.0.1:9");
  await login.answer(address, "http://dify.example.com");
  await login.answer(address, host);
  await login.answer(knowledgeKey, "dataset-bad-0123");
  await login.answer(knowledgeKey, "dataset-good-0123");
  expect(await login.exit).toBe(0);
  expect((await login.screen()).filter((line) => !line.startsWith("the keyring"))).toEqual([
    "Address of the server, such as dify.example.com: 127.0.0.1:9",
    "base URL http://127.0.0.1:9/v1",
    "✗ no response from http://127.0.0.1:9: connection refused: 127.0.0.1:9",
    "  check that the server is running and the base URL is correct",
    "Address of the server, such as dify.example.com: http://dify.example.com",
    '✗ invalid base URL "http://dify.example.com": plain HTTP would send the key unencrypted',
    "  use https://, or pass --insecure-http",
    "Address of the server, such as dify.example.com: HOST",
    "base URL http://HOST/v1",
    place,
    "Knowledge key (dataset-… or sk-…, hidden):",
    "✗ Access token is invalid (401 unauthorized)",
    "Knowledge key (dataset-… or sk-…, hidden):",
    "✓ work: server 1.14.2, this key opens 12 knowledge bases",
  ]);
  expect(login.written()).not.toContain("good-0123");
});

test("wf asks for the key of an application", async () => {
  const login = await terminal("wf", ["login", "work", "--base-url", server.baseUrl]);
  await login.answer(/Application key \(app-… or sk-…, hidden\):/, "app-good-0123");
  expect(await login.exit).toBe(0);
  expect((await login.screen()).at(-1)).toBe(
    '✓ work: server 1.14.2, this key opens "Support", mode workflow',
  );
});

test.each([
  ["Ctrl-C", "\u0003", 130, "error: interrupted"],
  ["Enter", "\r", 2, "error: no key entered; nothing was stored"],
])("%s at the key ends it, and nothing is stored", async (_, typed, exit, text) => {
  const login = await terminal("kb", ["login", "work", "--base-url", server.baseUrl]);
  await login.shows(new RegExp(`${knowledgeKey.source}\\s*$`));
  login.type(typed);
  expect(await login.exit).toBe(exit);
  expect(await login.screen()).toContain(text);
  expect(await login.file()).toBe("");
});

test("Ctrl-C while the server is silent ends it, and nothing is stored", async () => {
  let arrived = () => {};
  const request = new Promise<void>((resolve) => (arrived = resolve));
  const silent = await rawServer([() => arrived()]);
  const login = await terminal("kb", ["login", "work", "--base-url", silent.baseUrl]);
  await login.answer(knowledgeKey, "dataset-good-0123");
  await request;
  login.type("\u0003");
  expect(await login.exit).toBe(130);
  expect((await login.screen()).filter((line) => line !== "^C")).toEqual([
    place,
    "Knowledge key (dataset-… or sk-…, hidden):",
    expect.stringMatching(/^(\^C)?error: interrupted$/),
  ]);
  expect(await login.file()).toBe("");
});

test("kb open starts the program in BROWSER with the address", async () => {
  const home = await temporaryDirectory();
  const [script, record] = [join(home, "browser"), join(home, "opened")];
  await writeFile(script, `#!/bin/sh\nprintf '%s|' "$#" "$1" > "${record}"\n`);
  await chmod(script, 0o755);
  const env = { BROWSER: script, KB_BASE_URL: server.baseUrl, KB_KEY: "dataset-good-0123" };
  const open = await terminal("kb", ["open"], env);
  expect(await open.exit).toBe(0);
  expect(await open.screen()).toEqual(["opening http://HOST/datasets"]);
  expect(await readFile(record, "utf8")).toBe(`1|http://${host}/datasets|`);
});

test("the built-in profile is in line with the stored ones", async () => {
  const home = await temporaryDirectory();
  const profiles = { w: { base_url: "https://dify.example.com/v1" } };
  await writeFile(join(home, "profiles.json"), JSON.stringify({ default: "sandbox", profiles }));
  const list = onPty("kb", ["profile", "list"], { HOME: home, KB_CONFIG_DIR: home });
  expect(await list.exit).toBe(0);
  const [head = "", , ...rows] = await list.lines();
  const at = head.indexOf("default");
  expect(rows.map((row) => row.search(/true|false/))).toEqual([at, at]);
});
