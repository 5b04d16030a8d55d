import { chmod, chown, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const sandbox = await testSandbox();

/** A profile file with a key command, in a directory that only its user can change. */
async function machine() {
  const folder = await temporaryDirectory();
  const config = join(folder, "config");
  await mkdir(config, { mode: 0o700 });
  const path = join(config, "profiles.json");
  const base_url = sandbox.env["KB_BASE_URL"];
  const profiles = { work: { base_url, key_command: "pass", apps: { echo: { key: "app-echo" } } } };
  await writeFile(path, JSON.stringify({ default: "work", profiles }), { mode: 0o600 });
  const commands: string[] = [];
  const run = (line: string, env: World["env"] = {}) =>
    cli(line.split(" "), {
      folder,
      env,
      spawn: (command) => {
        commands.push(command);
        const output = Promise.resolve("dataset-sandbox");
        return { exit: Promise.resolve(0), output, kill: () => {} };
      },
    });
  return { folder, config, path, commands, run };
}

test("a key command that only the user could have written is run", async () => {
  const { run, commands } = await machine();
  expect(await run("kb list")).toMatchObject({ exit: 0, err: "" });
  expect(commands).toEqual(["pass"]);
});

test.skipIf(process.platform === "win32").each([
  ["the file can be written by all", "profiles.json", 0o666, ""],
  ["the file can be written by its group", "profiles.json", 0o620, ""],
  ["the directory can be written by all", ".", 0o777, ""],
  ["the directory above can be written by its group", "..", 0o770, ""],
])("a key command is not run if %s", async (_, part, mode) => {
  const { run, config, commands } = await machine();
  const open = join(config, part);
  await chmod(open, mode);
  const octal = mode.toString(8).padStart(4, "0");
  expect(await run("kb list")).toEqual({
    exit: 2,
    out: "",
    err: `error: the key command of profile work was not run, because others can change the profile file: ${open} can be written by others (mode ${octal})
hint: run chmod go-w ${open}; if only you can change it all the same, as in some containers, set KB_TRUST_FILES=1
`,
  });
  expect((await run("kb doctor")).out).toContain(
    `others can change the profiles: ${open} can be written by others (mode ${octal})`,
  );
  expect(commands).toEqual([]);

  expect((await run("kb list", { KB_TRUST_FILES: "1" })).exit).toBe(0);
  expect(commands).toEqual(["pass"]);
  await chmod(open, mode & ~0o022);
  expect((await run("kb list")).exit).toBe(0);
});

test.skipIf(process.platform === "win32")(
  "keys in a file that others can change are read",
  async () => {
    const { run, path } = await machine();
    await chmod(path, 0o666);
    expect(await run("wf app meta")).toMatchObject({ exit: 0, err: "" });
  },
);

test.skipIf(process.platform === "win32")("a link leads to the file that counts", async () => {
  const { run, folder, path } = await machine();
  const real = join(folder, "real.json");
  await rename(path, real);
  await symlink(real, path);
  expect((await run("kb list")).exit).toBe(0);
  await chmod(real, 0o602);
  expect((await run("kb list")).err).toContain(`${real} can be written by others (mode 0602)`);
});

test.runIf(process.getuid?.() === 0)("root does not run the key command of a user", async () => {
  const { run, config, commands } = await machine();
  await chown(config, 12_345, 12_345);
  const { exit, err } = await run("kb list");
  expect(err).toContain(`the profile file: ${config} belongs to user 12345\n`);
  expect(err).toContain("hint: keep the profiles in a directory of your own (KB_CONFIG_DIR); if");
  expect([exit, commands]).toEqual([2, []]);
});
