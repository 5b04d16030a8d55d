import { spawn } from "node:child_process";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryKeyring, reachingBus, silentKeyring } from "../../lib/keyring.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";
import { root } from "../../lib/paths.ts";

const server = await testSandbox();
const url = server.env["KB_BASE_URL"] ?? "";
const nothing = { KB_BASE_URL: "", KB_KEY: "", KB_PROFILE: "" };

/** A test environment with its own directory and keyring. */
async function machine(world: World = {}) {
  const folder = await temporaryDirectory();
  const keyring = memoryKeyring();
  const path = join(folder, "config", "profiles.json");
  const run = (line: string, more: World = {}) =>
    server.cli(line.split(" "), {
      folder,
      keyring,
      ...world,
      ...more,
      env: { ...nothing, ...world.env, ...more.env },
    });
  return {
    folder,
    entries: keyring.entries,
    path,
    file: () => readFile(path, "utf8"),
    run,
    add: (line: string, key: string, more: World = {}) =>
      run(`${line} --base-url ${url} --key-file -`, { ...more, stdin: `${key}\n` }),
  };
}

const signedIn = "✓ work: server 1.14.2, this key opens 0 knowledge bases\n";

const knowledge = "kb login work";
const application = "wf login work --app echo";

test("keys are stored in the keyring, the profile file refers to it, and commands work", async () => {
  const { run, add, file, entries, path } = await machine();
  const added = await add(knowledge, "dataset-sandbox");
  expect(added).toMatchObject({ exit: 0, err: `the key is stored in the keyring\n${signedIn}` });
  await add(application, "app-echo");
  expect(Object.fromEntries(entries)).toEqual({
    [`work, ${url}, ${path}`]: "dataset-sandbox",
    [`work, application echo, ${url}, ${path}`]: "app-echo",
  });
  expect(JSON.parse(await file())).toEqual({
    default: "work",
    profiles: {
      work: {
        base_url: url,
        key_in: "keyring",
        apps: { echo: { key_in: "keyring" } },
        default_app: "echo",
      },
    },
  });
  expect((await run("kb list -o name")).exit).toBe(0);
  expect((await run("wf app info --jq .name")).out).toBe("echo\n");
  const shown = JSON.parse((await run("kb profile show -o json")).out) as unknown;
  expect(shown).toMatchObject({ key: "in the keyring", apps: { echo: "in the keyring" } });
  const explained = JSON.parse((await run("kb config explain -o json")).out) as unknown;
  expect(explained).toContainEqual({
    setting: "knowledge key",
    value: null,
    source: "profile work, in the keyring",
  });
  const screen = await run("wf config explain", { tty: true, columns: 80 });
  expect(screen.out).toMatch(/^application +echo +profile work$/m);
  expect(screen.out).toMatch(/^application key +\S* +profile work, in the keyring$/m);
});

test.each([
  ["another key", `${knowledge} --key-file - --no-check`, ["app-echo", "dataset-other"]],
  ["a key in the file", `${knowledge} --key-file - --insecure-storage --no-check`, ["app-echo"]],
  ["a command", `${knowledge} --key-command pass --no-check`, ["app-echo"]],
  ["another user, no key", `${knowledge} --user ann`, ["app-echo", "dataset-sandbox"]],
  ["removal", "kb profile remove work --yes", []],
])("with %s, no old key is left in the keyring", async (_, line, left) => {
  const { run, add, entries } = await machine();
  await add(knowledge, "dataset-sandbox");
  await add(application, "app-echo");
  const ran = await run(line, { stdin: "dataset-other\n" });
  expect(ran.exit, ran.err).toBe(0);
  expect([...entries.values()].toSorted()).toEqual(left);
});

const hangs = "no response within 2 s";

test.each<[string, string, World, string]>([
  ["without a keyring", "", {}, "the keyring is not available (no keyring): "],
  [
    "with a keyring that does not respond",
    "",
    { keyring: silentKeyring(hangs) },
    `the keyring is not available (${hangs}): `,
  ],
  ["with --insecure-storage", " --insecure-storage", { keyring: memoryKeyring() }, ""],
  [
    "with KB_NO_KEYRING",
    "",
    { keyring: memoryKeyring(), env: { KB_NO_KEYRING: "1" } },
    "the keyring is not available (KB_NO_KEYRING is set): ",
  ],
])("%s a key is stored in the profile file, with a notice", async (_, flag, world, why) => {
  const folder = await temporaryDirectory();
  const path = join(folder, "config", "profiles.json");
  const line = `${knowledge}${flag} --base-url ${url} --key-file -`;
  const added = await server.cli(line.split(" "), {
    folder,
    ...world,
    env: { ...nothing, ...world.env },
    stdin: "dataset-sandbox",
  });
  expect(added.err).toBe(`${why}the key is stored in ${path}, readable only by you\n${signedIn}`);
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({
    profiles: { work: { key: "dataset-sandbox" } },
  });
  const listed = await server.cli(["kb", "profile", "list", "--jq", ".[].key"], {
    folder,
    env: nothing,
  });
  expect(listed.out).toBe("dataset-****dbox in the profile file\n");
});

test.each<[string, string, World, string, string]>([
  [
    "kb list",
    "that does not respond",
    { keyring: silentKeyring(hangs) },
    "failed to read the key of profile work: the keyring is not available: no response within 2 s",
    "unlock the keyring, or store the key in the profile file: `kb login work --insecure-storage`",
  ],
  [
    "wf logs",
    "that is disabled",
    { env: { KB_NO_KEYRING: "1" } },
    "failed to read the key of application echo in profile work: the keyring is not available: KB_NO_KEYRING is set",
    "unlock the keyring, or store the key in the profile file: `wf login work --app echo --insecure-storage`",
  ],
  [
    "kb list",
    "that has lost the key",
    { keyring: memoryKeyring() },
    "failed to read the key of profile work: the keyring has no such entry",
    "store it again: `kb login work`",
  ],
])(
  "%s with a keyring %s exits with 4, whatever other keys exist",
  async (line, _, world, message, hint) => {
    const { run, add } = await machine({ env: { DIFY_API_KEY: "dataset-sandbox" } });
    await add(knowledge, "dataset-sandbox");
    await add(application, "app-echo");
    const ran = await run(line, world);
    expect(ran).toMatchObject({ exit: 4, out: "", err: `error: ${message}\nhint: ${hint}\n` });
  },
);

test("a key in the keyring is not found for another base URL", async () => {
  const { run, add, path, file } = await machine();
  await add(knowledge, "dataset-sandbox");
  await writeFile(path, (await file()).replace("127.0.0.1", "localhost"));
  const ran = await run("kb list");
  expect(ran.exit).toBe(4);
  expect(ran.err).toContain("the keyring has no such entry");
});

test("keys of the environment take precedence, and the keyring is not called", async () => {
  const { run, add } = await machine();
  await add(knowledge, "dataset-sandbox");
  const world = { keyring: silentKeyring(hangs), env: { KB_KEY: "dataset-sandbox" } };
  expect((await run("kb list", world)).exit).toBe(0);
});

test("completion offers names with a key from the keyring, and works without one", async () => {
  const { run, add } = await machine();
  await add(knowledge, "dataset-sandbox");
  await add(application, "app-echo");
  await run("kb tag create draft");
  const silent = { keyring: silentKeyring(hangs) };
  expect((await run("kb __complete -- tag rename ")).out).toContain("draft");
  expect(await run("kb __complete -- tag rename ", silent)).toMatchObject({ exit: 0, err: "" });
  expect((await run("wf __complete -- --app ", silent)).out).toContain("echo");
});

test("doctor reports a keyring that does not respond", async () => {
  const { run, add } = await machine();
  await add(knowledge, "dataset-sandbox");
  const ran = await run("kb doctor -o json", { keyring: silentKeyring(hangs) });
  expect(ran.exit).toBe(4);
  expect(JSON.parse(ran.out)).toContainEqual({
    check: "settings",
    result: "problem",
    found:
      "failed to read the key of profile work: the keyring is not available: no response within 2 s",
    next: expect.stringContaining("unlock the keyring") as unknown,
  });
});

test("removing a profile reports the key that is left in a keyring that does not respond", async () => {
  const { run, add } = await machine();
  await add(application, "app-echo");
  const ran = await run("kb profile remove work --yes", { keyring: silentKeyring(hangs) });
  expect(ran).toMatchObject({
    exit: 0,
    err: `the keyring is not available (${hangs}): delete the old key there yourself, kb-wf: work, application echo\nremoved profile work\n`,
  });
});

test("an unknown key_in is a damaged profile file", async () => {
  const { run, add, path, file } = await machine();
  await add(knowledge, "dataset-sandbox");
  await writeFile(path, (await file()).replace('"keyring"', '"moon"'));
  const ran = await run("kb list");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain('profiles.work.key_in is not "keyring"');
});

// The real keyring module, in the built program; the keyring of the machine is never called.

/** Runs `login` of the built program below `root`, with a session bus at this address. */
function realAdd(folder: string, bus: string, programs = root) {
  const line = [
    "login",
    "work",
    "--no-check",
    "--base-url",
    "https://example.com/v1",
    "--key-file",
    "-",
  ];
  const child = spawn(process.execPath, [join(programs, "bin", "kb.js"), ...line], {
    env: { KB_CONFIG_DIR: join(folder, "config"), HOME: folder, DBUS_SESSION_BUS_ADDRESS: bus },
  });
  let err = "";
  child.stderr.on("data", (piece: Buffer) => (err += piece.toString()));
  child.stdin.end("dataset-abcdefgh");
  const ended = new Promise<{ exit: number | null; err: string }>((resolve) =>
    child.on("close", (exit) => resolve({ exit, err })),
  );
  return { child, ended };
}

const stored = (folder: string) =>
  `the key is stored in ${join(folder, "config", "profiles.json")}, readable only by you\n✓ work: key saved without a check\n`;
const linux = process.platform === "linux";

test.runIf(linux)(
  "after two seconds without response from the bus, the key is stored in the file",
  async () => {
    const { ended, folder, closed } = await reachingBus(realAdd);
    expect(await ended).toEqual({
      exit: 0,
      err: `the keyring is not available (${hangs}): ${stored(folder)}`,
    });
    await closed;
  },
);

test.runIf(linux)("Ctrl-C does not wait for the bus, and leaves no process behind", async () => {
  const { child, ended, closed } = await reachingBus(realAdd);
  child.kill("SIGINT");
  expect((await ended).exit).toBe(130);
  await closed;
});

test.runIf(linux)("without a bus the key is stored in the file at once", async () => {
  const folder = await temporaryDirectory();
  const ran = await realAdd(folder, `unix:path=${join(folder, "none")}`).ended;
  expect(ran.exit).toBe(0);
  expect(ran.err).toMatch(
    /^the keyring is not available \(no keyring service runs in this session\): the key is stored in /,
  );
});

test("without the optional package the key is stored in the file, with a notice", async () => {
  const folder = await temporaryDirectory();
  for (const part of ["bin", "dist"])
    await cp(join(root, part), join(folder, part), { recursive: true });
  const ran = await realAdd(folder, "", folder).ended;
  expect(ran).toEqual({
    exit: 0,
    err: `the keyring is not available (the package @napi-rs/keyring is not installed): ${stored(folder)}`,
  });
});
