import { chmod, mkdir, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sampled } from "../lib/sampled.ts";
import { shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

// The promises of the profile file, with the built program: conf must not weaken any of them.

const url = "http://127.0.0.1:1/v1";
const add = `kb login new --base-url ${url} --key-command true --no-check`;
const [use, remove] = ["kb profile use old", "kb profile remove old --yes"];

/** A file as version 0.1.0 wrote it, long enough not to fit into 1024 bytes. */
const old = {
  default: "old",
  profiles: { old: { base_url: url, key: "dataset-old-0123", user: "u".repeat(1200) } },
};
const asStored = (value: unknown) => `${JSON.stringify(value, null, "\t")}\n`;

/** A config directory with that file, and a function that runs a script with it. */
async function configured(content = asStored(old)) {
  const directory = await temporaryDirectory();
  const config = join(directory, "config");
  const path = join(config, "profiles.json");
  await mkdir(config, { mode: 0o700 });
  await writeFile(path, content, { mode: 0o600 });
  const run = (
    script: string,
    env: Readonly<Record<string, string>> = {},
    options: Parameters<typeof shell>[2] = {},
  ) =>
    shell(script, { HOME: directory, KB_CONFIG_DIR: config, KB_NO_KEYRING: "1", ...env }, options)
      .ended;
  return { directory, config, path, run, text: () => readFile(path, "utf8") };
}

const mode = async (path: string) => (await stat(path)).mode & 0o777;

test("a new file is readable by its owner only, in a directory of the same kind", async () => {
  const directory = await temporaryDirectory();
  const config = join(directory, "a", "b");
  const ran = await shell(`umask 0; ${add}`, { HOME: directory, KB_CONFIG_DIR: config }).ended;
  expect(ran.exit, ran.err).toBe(0);
  expect([await mode(config), await mode(join(config, "profiles.json"))]).toEqual([0o700, 0o600]);
  expect(await readdir(config)).toEqual(["profiles.json"]);
});

test("a file that others could read is closed to them by the next write", async () => {
  const { path, run } = await configured();
  await chmod(path, 0o644);
  expect((await run(add)).exit).toBe(0);
  expect(await mode(path)).toBe(0o600);
});

test("profiles of earlier versions are read, extended, and written in the same format", async () => {
  const { run, text } = await configured();
  expect((await run(add)).exit).toBe(0);
  const extended = { ...old.profiles, new: { key_command: "true", base_url: url } };
  expect(await text()).toBe(asStored({ default: "old", profiles: extended }));
  expect((await run("kb profile use new")).exit).toBe(0);
  expect(await text()).toBe(asStored({ default: "new", profiles: extended }));
  expect((await run("kb profile remove new --yes")).exit).toBe(0);
  expect(await text()).toBe(asStored({ profiles: old.profiles }));
});

test("names that mean something in JavaScript or in conf are stored like all others", async () => {
  const { run, text } = await configured(asStored({ profiles: {} }));
  for (const name of ["constructor", "a.b.c", "toString"])
    expect((await run(`${add.replace("new", name)} --app __internal__`)).exit).toBe(0);
  const { profiles } = JSON.parse(await text()) as { profiles: Record<string, unknown> };
  expect(Object.keys(profiles)).toEqual(["constructor", "a.b.c", "toString"]);
  const app = { apps: { __internal__: { key_command: "true" } }, default_app: "__internal__" };
  expect(profiles["a.b.c"]).toEqual({ base_url: url, ...app });
});

/** Kills the process before or after the nth call of a function of node:fs. */
const killer = `
const fs = require("node:fs");
const [name, nth, place] = process.env.KILL_AT.split(" ");
const real = fs[name];
let calls = 0;
fs[name] = (...args) => {
  const kill = ++calls === Number(nth) && (() => process.kill(process.pid, "SIGKILL"));
  if (kill && place === "before") kill();
  if (kill && place === "halfway") args = [args[0], String(args[1]).slice(0, 50)];
  const result = real(...args);
  if (kill) kill();
  return result;
};`;

// The first write is that of the lock, the second that of the profiles; conf renames its temporary
// file, then the finished file is renamed into place.
const kills = [
  ["writeSync 2 before", "old"],
  ["writeSync 2 halfway", "old"],
  ["fsyncSync 1 after", "old"],
  ["renameSync 1 before", "old"],
  ["renameSync 1 after", "old"],
  ["renameSync 2 before", "old"],
  ["renameSync 2 after", "new"],
  ["rmSync 1 after", "new"],
] as const;

test.concurrent.each(sampled(9, kills))(
  "killed at %s, the whole %s file is there, and the next write works",
  async (at, which) => {
    const { directory, run, text } = await configured();
    const hook = join(directory, "hook.cjs");
    await writeFile(hook, killer);
    const killed = await run(add, { KILL_AT: at, NODE_OPTIONS: `--require=${hook}` });
    expect(killed.exit, killed.err).toBe(128 + 9);
    const { profiles } = JSON.parse(await text()) as typeof old;
    expect(Object.keys(profiles)).toEqual(which === "old" ? ["old"] : ["old", "new"]);
    expect(profiles.old).toEqual(old.profiles.old);
    expect(await run(add)).toMatchObject({ exit: 0 });
  },
);

test.concurrent.each([
  ["", {}],
  [", in a terminal of a snap", { SNAP: "/snap/code/1" }],
])("a full disk leaves the old file and nothing beside it%s", async (_, env) => {
  const { path, config, run, text } = await configured();
  // A limit on the size of files acts like a full disk: the first write is a short one.
  const ran = await run(`ulimit -f 2; ${add}`, env);
  expect(ran).toMatchObject({ exit: 1, out: "" });
  expect(ran.err).toContain(`${path}: file too large`);
  expect(await text()).toBe(asStored(old));
  expect(await readdir(config)).toEqual(["profiles.json"]);
});

test.skipIf(process.platform === "win32")(
  "a directory that cannot be written leaves the old file",
  async () => {
    const { directory, config, path, run, text } = await configured();
    for (const each of [directory, config]) await chmod(each, 0o755);
    await chmod(path, 0o644);
    // Permissions do not stop root, which is why another user runs this.
    const user = process.getuid?.() === 0 ? { uid: 54_321 } : {};
    if (!("uid" in user)) await chmod(config, 0o500);
    const ran = await run(add, {}, user);
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toContain(`${config}`);
    expect(ran.err).toContain("permission denied");
    expect(await text()).toBe(asStored(old));
    if (!("uid" in user)) await chmod(config, 0o700);
  },
);

test("a link stays a link, and the file that it points to is replaced", async () => {
  const { directory, config, run } = await configured("");
  const [dotfiles, linked] = [join(directory, "dotfiles"), join(directory, "linked")];
  await mkdir(dotfiles);
  await mkdir(linked, { mode: 0o700 });
  await writeFile(join(dotfiles, "kb.json"), asStored(old));
  await symlink(join(dotfiles, "kb.json"), join(linked, "profiles.json"));
  const ran = await run(add, { KB_CONFIG_DIR: linked });
  expect(ran.exit, ran.err).toBe(0);
  expect(await readFile(join(dotfiles, "kb.json"), "utf8")).toContain('"new"');
  expect(await mode(join(dotfiles, "kb.json"))).toBe(0o600);
  expect(await readdir(dotfiles)).toEqual(["kb.json"]);
  expect(
    (await readdir(linked, { withFileTypes: true })).map((each) => each.isSymbolicLink()),
  ).toEqual([true]);
  expect(await readdir(config)).toEqual(["profiles.json"]);
});

test.concurrent.each([add, use, remove])(
  "%s leaves a damaged file as it is and names its line, not its content",
  async (line) => {
    const damaged = '{\n\t"profiles": {\n\t\t"old": { "key": "dataset-secret" "x" }\n\t}\n}\n';
    const { path, config, run, text } = await configured(damaged);
    const ran = await run(line);
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toContain(`${path} is damaged: line 3 is not valid JSON`);
    expect(ran.err).not.toContain("secret");
    expect(await text()).toBe(damaged);
    expect(await readdir(config)).toEqual(["profiles.json"]);
  },
);
