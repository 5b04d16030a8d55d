import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { bin, shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

// A process that was killed stays a zombie until its parent waits for it, which some never do.

const server = await testSandbox();

/** Starts a program whose parent never waits for it, and returns its pid. */
async function orphan(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const script = '"$NODE" "$@" >/dev/null & echo $!; exec sleep 1000';
  const { child } = shell(script, env, { args: argv });
  return new Promise((resolve) => child.stdout?.once("data", (text) => resolve(Number(text))));
}

async function killToZombie(pid: number): Promise<void> {
  process.kill(pid, "SIGKILL");
  const state = async () => (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.[0];
  await expect.poll(state, { timeout: 300_000 }).toBe("Z");
}

const isLinux = process.platform === "linux";

test.runIf(isLinux)("the rows of a zombie are sent by the next command", async () => {
  const home = await temporaryDirectory();
  const env = { ...server.env, HOME: home, KB_STATE_DIR: join(home, "state") };
  const rows = join(home, "rows.csv");
  await writeFile(rows, "query,seconds\none,60\n"); // about one second of this server
  const argv = [bin("wf"), "--app", "slow", "run", "--each", rows];
  const pid = await orphan(argv, env);
  const journal = async () => {
    const names = await readdir(env.KB_STATE_DIR).catch(() => []);
    const name = names.find((each) => /^each-.*\.jsonl$/.test(each));
    return name === undefined ? "" : readFile(join(env.KB_STATE_DIR, name), "utf8");
  };
  // Once its run is known it can be followed by the next command.
  await expect.poll(journal, { timeout: 300_000 }).toContain('{"sent":1,"id":');
  await killToZombie(pid);
  const again = await shell('"$NODE" "$@"', env, { args: argv }).ended;
  expect(again.exit, again.err).toBe(0);
});

test.runIf(isLinux)("the directory of a sandbox that is a zombie is free", async () => {
  const home = await temporaryDirectory();
  const env = { HOME: home };
  const argv = [bin("kb"), "sandbox", "--data", join(home, "data")];
  const pid = await orphan(argv, env);
  const lock = join(home, "data", "sandbox.pid");
  const content = () => readFile(lock, "utf8").catch(() => "");
  await expect.poll(content, { timeout: 300_000 }).toContain("token"); // it is created empty
  await killToZombie(pid);
  const script = '"$NODE" "$@"';
  const again = await shell(script, env, { args: [...argv, "--", "true"] }).ended;
  expect(again.exit, again.err).toBe(0);
});
