import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { shell } from "../lib/shell.ts";
import { temporaryDirectory, withoutProgress } from "../lib/support.ts";

const home = await temporaryDirectory();
const server = await testSandbox();
const env = { ...server.env, HOME: home, T: home };
const run = (script: string, more: Readonly<Record<string, string>> = {}) =>
  shell(script, { ...env, ...more }).ended;

await writeFile(join(home, "long.txt"), "a line of a text that takes some room\n".repeat(2000));
await server.cli(["kb", "create", "Docs", "--indexing-technique", "economy"]);
await server.cli(["kb", "doc", "add", "Docs", "long.txt", "--text-file", join(home, "long.txt")]);
await writeFile(join(home, "names.csv"), "name\nfirst\nsecond\n");

describe("a full disk", () => {
  const printing = [
    "kb list",
    "kb show Docs -o json",
    "wf --app echo run --input query=x",
    "kb --help",
  ];

  test.concurrent.each(sampled(5, printing))("%s > /dev/full: 1, and the reason", async (line) => {
    const ran = await run(`${line} > /dev/full`);
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("failed to write the output: disk full");
    expect(ran.err).not.toContain("internal error:");
  });

  test("a write whose response cannot be printed reports that changes were made", async () => {
    const ran = await run("kb create Unprinted --indexing-technique economy > /dev/full");
    expect(ran).toMatchObject({
      exit: 1,
      err: "error: failed to write the output: disk full\nsome changes were made\n",
    });
    expect((await server.cli(["kb", "show", "Unprinted"])).exit).toBe(0);
  });

  test("rows whose results cannot be printed are counted", async () => {
    await writeFile(join(home, "full.csv"), "name\nfull1\nfull2\n");
    const ran = await run("kb tag create --each $T/full.csv > /dev/full");
    expect(ran.exit).toBe(1);
    expect(withoutProgress(ran.err)).toBe(
      "Created tag: 2 of 2 rows done\nerror: failed to write the output: disk full\nsome changes were made\n",
    );
  });

  test("a dry run that cannot be printed reports none", async () => {
    const ran = await run("kb create Never --dry-run > /dev/full");
    expect(ran).toEqual({
      exit: 1,
      out: "",
      err: "error: failed to write the output: disk full\n",
    });
  });

  test("a closed stdout acts like the null device", async () => {
    expect(await run("kb list >&-")).toEqual({ exit: 0, out: "", err: "" });
  });

  test("stderr on a full disk changes nothing", async () => {
    const ran = await run("kb list -vv -o name 2> /dev/full");
    expect(ran).toMatchObject({ exit: 0, out: expect.stringMatching(/^[0-9a-f-]{36}\n/) });
    expect((await run("kb lst 2> /dev/full")).exit).toBe(2);
  });
});

/** A limit on the file size acts like a full disk; `ulimit -f` counts blocks of 512 bytes. */
test.concurrent.each<[string, string, string, readonly string[]]>([
  ["doc download --dir", "kb doc download Docs long.txt --dir $T/D", "D/long.txt", []],
  ["doc download --zip", "mkdir $T/Z; kb doc download Docs long.txt --zip $T/Z/z", "Z/z", []],
  ["export", "kb export Docs $T/E", "E/documents/long.txt", ["documents", "manifest.part.jsonl"]],
  ["backup", "kb backup $T/B Docs", "B", ["kb-backup.json", "objects", "snapshots"]],
  ["pull", "ulimit -f 0; mkdir $T/P; kb pull Docs --output-file $T/P/p", "P/p", []],
  [
    "login",
    "ulimit -f 0; echo dataset-k | KB_CONFIG_DIR=$T/F kb login x --base-url http://127.0.0.1:1/v1 --key-file - --no-check",
    "F/profiles.json",
    [],
  ],
])("no space for the file of %s: 1, its path, and no partial file", async (_, line, path, left) => {
  const ran = await run(`ulimit -f 8; ${line}`);
  expect(ran.exit, ran.err).toBe(1);
  expect(ran.err).toContain(`${join(home, path)}`);
  expect(ran.err).toContain("file too large");
  expect(await readdir(join(home, path.split("/")[0] ?? ""))).toEqual(left);
});

test("no space for the file of failed rows: 1, and nothing is sent", async () => {
  const ran = await run("ulimit -f 0; kb create --each $T/names.csv --errors-to $T/failed.csv");
  expect(ran).toEqual({
    exit: 1,
    out: "",
    err: "error: failed to write --errors-to: file too large\n",
  });
});

test("no space for the journal: a notice, and all rows are done", async () => {
  const ran = await run("ulimit -f 0; kb tag create --each $T/names.csv --columns row,status");
  expect({ ...ran, err: withoutProgress(ran.err) }).toEqual({
    exit: 0,
    out: "1\tok\n2\tok\n",
    err: "if this run is interrupted, it cannot resume: file too large\nCreated tag: 2 of 2 rows done\n",
  });
});

test("no space for the sandbox database: 1, and the command is not run", async () => {
  const ran = await run("ulimit -f 0; kb sandbox --data $T/S -- echo ran");
  expect(ran).toEqual({
    exit: 1,
    out: "",
    err: "error: failed to start the sandbox: file too large\n",
  });
});

describe("no home", () => {
  /** Not even root can create anything below a device. */
  const homeless = { HOME: "/dev/null" };

  const homes = [
    ["is a device", homeless],
    ["is empty", { HOME: "" }],
    ["is nowhere", { HOME: "/proc/nowhere" }],
  ] as const;

  test.concurrent.each(sampled(5, homes))(
    "a home that %s: a command that needs no files works",
    async (_, where) => {
      const ran = await run("kb list -o name -L 1", where);
      expect(ran).toMatchObject({ exit: 0, out: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
    },
  );

  test.runIf(process.platform === "linux")(
    "a home that is nowhere: the directory that cannot be created",
    async () => {
      const ran = await run("kb sandbox -- echo ran", { HOME: "/proc/nowhere", KB_DATA_DIR: "" });
      expect(ran).toEqual({
        exit: 2,
        out: "",
        err:
          "error: /proc/nowhere/.local/share/kb: directory cannot be created\n" +
          "hint: set KB_CONFIG_DIR, KB_STATE_DIR, KB_DATA_DIR or KB_CACHE_DIR to use another directory\n",
      });
    },
  );

  test.concurrent.each([
    ["kb -p mine list", /profile "mine" not found/],
    ["KB_PROFILE= KB_BASE_URL= kb list", /no server is set up/],
    [
      "echo dataset-k | kb login x --base-url http://127.0.0.1:1/v1 --key-file - --no-check",
      /^error: \/dev\/null\/.config\/kb: not a directory\nhint: set KB_CONFIG_DIR/m,
    ],
  ])("%s: 2, and the reason", async (line, said) => {
    const ran = await run(line, homeless);
    expect(ran.exit, ran.err).toBe(2);
    expect(ran.err).toMatch(said);
  });

  test("--each works without a journal", async () => {
    const ran = await run("kb tag create --each $T/names.csv -o json --if-not-exists", homeless);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain("if this run is interrupted, it cannot resume");
  });

  // Only root can start a process as a user that does not exist.
  test.runIf(process.getuid?.() === 0)(
    "a user unknown to the system: a command works",
    async () => {
      const { HOME: _, ...rest } = env;
      const { ended } = shell("kb list -o name -L 1", rest, { uid: 54_321 });
      expect(await ended).toMatchObject({
        exit: 0,
        out: expect.stringMatching(/^[0-9a-f-]{36}\n$/),
      });
    },
  );
});

test("a deleted working directory does not matter to commands that do not use it", async () => {
  const ran = await run('mkdir "$T/gone"; cd "$T/gone"; rmdir "$T/gone"; kb list -o name -L 1');
  expect(ran).toMatchObject({ exit: 0, out: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
});

test("a directory as profile file: 2, and its path", async () => {
  const ran = await run("mkdir -p $T/C/profiles.json; KB_CONFIG_DIR=$T/C kb -p mine list");
  expect(ran.exit, ran.err).toBe(2);
  expect(ran.err).toContain("profiles.json");
});

test("closed streams: a command works", async () => {
  expect((await run("kb list <&- >&- 2>&-")).exit).toBe(0);
});

test.concurrent.each(sampled(3, ["LC_ALL=xx_YY.nothing", "LANG=C LC_ALL=", "TZ=Nonsense"]))(
  "%s: a list is printed",
  async (setting) => {
    const ran = await run(`${setting} kb list -o tsv`);
    expect(ran).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/Docs\teconomy\t.*Z\t[0-9a-f-]{36}\n/),
    });
  },
);

test("the file that was sent comes back", async () => {
  const ran = await run("kb doc download Docs long.txt --dir $T/whole");
  expect(ran.exit, ran.err).toBe(0);
  expect(await readFile(join(home, "whole/long.txt"))).toEqual(
    await readFile(join(home, "long.txt")),
  );
});

test("with umask 0, what is kept of a command is readable by its user only", async () => {
  const state = join(home, "open-state");
  await writeFile(join(home, "twice.csv"), "name\ntwice\ntwice\n");
  const script = `umask 0; kb tag create --each $T/twice.csv; find "$KB_STATE_DIR" -type f -perm /077`;
  const ran = await run(script, { KB_STATE_DIR: state });
  expect(ran).toMatchObject({ exit: 0, out: expect.stringContaining("failed") as unknown });
  expect(ran.out).not.toContain(state);
  expect((await readdir(state)).join(" ")).toMatch(/each-[0-9a-f]+\.jsonl/);
});

// From the first limit under which the programs start at all.
test.runIf(process.platform === "linux")(
  "without descriptors, there is one line that says so and claims nothing",
  async () => {
    const script = `n=10; until (ulimit -n $n; kb --version) > /dev/null 2>&1; do n=$((n + 1)); done
      for more in 0 1 2 3 4 5 6; do
        (ulimit -n $((n + more)); kb list -o name 2> "$T/limit.$more" > /dev/null; echo "$? $more")
      done`;
    const { out } = await run(script);
    const ends = out.trimEnd().split("\n");
    expect(ends).toHaveLength(7);
    for (const end of ends) {
      const [exit, more] = end.split(" ");
      const text = await readFile(join(home, `limit.${more}`), "utf8");
      if (exit === "0") expect(text).toBe("");
      else expect(text).toMatch(/^error: .*too many open files \(`ulimit -n` shows the limit\)\n$/);
    }
    expect(ends.some((end) => !end.startsWith("0"))).toBe(true);
  },
);
