import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();
const url = server.env["KB_BASE_URL"] ?? "";

/** A machine with the profiles work and weekly, on which a sandbox runs. */
async function machine(profiles: object = { work: {}, weekly: {} }) {
  const folder = await temporaryDirectory();
  for (const name of ["config", "state"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "config", "profiles.json"), JSON.stringify({ profiles }));
  await writeFile(join(folder, "state", "sandbox.json"), JSON.stringify({ base_url: url }));
  return { folder, run: (line: string) => cli(line.split(" "), { folder }) };
}

test.each([
  ["kb list", "kb"],
  ["kb doc list Handbook", "kb"],
  ["wf logs", "wf"],
])(
  "%s without a profile: how to sign in, and how to try it without a server",
  async (line, program) => {
    const folder = await temporaryDirectory();
    expect(await cli(line.split(" "), { folder })).toEqual({
      exit: 2,
      out: "",
      err: [
        `error: no server is set up: sign in with \`${program} login\`\n`,
        `hint: to try without a server: \`${program} sandbox --ephemeral -- bash\`\n`,
      ].join(""),
    });
  },
);

test.each([
  ["kb list", "hint: sign in with `kb login work`, or set KB_KEY\n"],
  ["wf logs", "hint: sign in with `wf login work`, or set KB_APP_KEY\n"],
])("%s without a key of its kind says how to sign in", async (line, hint) => {
  const { run } = await machine({ work: { base_url: url } });
  const ran = await run(`${line} -p work`);
  expect(ran.exit).toBe(4);
  expect(ran.err).toContain(hint);
});

test("the built-in profile can be the default, shown and listed, not removed", async () => {
  const { run } = await machine();
  expect(await run("kb profile use sandbox")).toMatchObject({
    exit: 0,
    err: "sandbox is now the default profile\n",
  });
  expect(await run("kb list")).toMatchObject({ exit: 0 });
  expect((await run("wf app info --jq .name")).out).toBe("echo\n");
  const built = { name: "sandbox", default: true, base_url: url, default_app: "echo" };
  for (const line of ["kb profile show", "kb profile show sandbox"]) {
    const shown = JSON.parse((await run(`${line} -o json`)).out) as unknown;
    expect(shown).toMatchObject({ ...built, key: "dataset-****dbox (built-in)" });
  }
  expect((await run("kb profile list -o name")).out).toBe("work\nweekly\nsandbox\n");
  const removed = await run("kb profile remove sandbox -y");
  expect(removed).toMatchObject({ exit: 2 });
  expect(removed.err).toContain("is built in and cannot be removed");
  await run("kb profile use work");
  expect((await run("kb profile list -o name")).out).toBe("work\nweekly\n");
});

test("profile show without a name shows the selected profile", async () => {
  const { run } = await machine();
  expect((await run("kb profile show -p sandbox -o name")).out).toBe("sandbox\n");
  expect((await run("wf profile show -p weekly -o name")).out).toBe("weekly\n");
  expect((await run("kb profile show work -p sandbox -o name")).out).toBe("work\n");
});

test("a default profile whose sandbox has ended says how to start one", async () => {
  const folder = await temporaryDirectory();
  await cli(["kb", "profile", "use", "sandbox"], { folder });
  expect(await cli(["kb", "list"], { folder })).toMatchObject({
    exit: 2,
    err: "error: no sandbox is running\nhint: start one: `kb sandbox`\n",
  });
});

test.each([
  ["kb profile remove wrk -y", 3, 'hint: did you mean "work"?\n'],
  ["kb profile show nope", 3, "hint: stored profiles: work, weekly\n"],
  ["wf profile use sandbox --app nope", 3, 'profile sandbox has no application "nope"'],
  ["wf profile use sandbox --app slow", 2, "select it on each line: --app slow"],
  ["kb profile use sandbx", 3, 'hint: did you mean "sandbox"?\n'],
  ["kb list -p week", 2, 'hint: did you mean "weekly"?\n'],
])("%s names the profiles that exist", async (line, exit, hint) => {
  const { run } = await machine();
  const ran = await run(line);
  expect(ran.exit).toBe(exit);
  expect(ran.err).toContain(hint);
});

test("without profiles, a name that is not found says how to sign in", async () => {
  const { run } = await machine({});
  const ran = await run("wf profile show nope");
  expect(ran.err).toContain("hint: no profiles are stored; sign in with `wf login nope`\n");
});

test("a narrow terminal drops columns before it cuts an address", async () => {
  const base_url = "https://knowledge.production.example-company.com/v1";
  const { folder } = await machine({ production: { base_url }, staging: { base_url } });
  const { out } = await cli(["kb", "profile", "list"], { folder, tty: true });
  expect(out.split(`  ${base_url}\n`)).toHaveLength(3);
});
