/** What `npm run release` makes: the same bytes each time, and installed where there is no Node.js. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join, relative } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { afterFile } from "../lib/cleanup.ts";
import { calling } from "../lib/mcp.ts";
import { textOf } from "../lib/pages.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { pythonWith } from "../lib/python.ts";
import { temporaryDirectory } from "../lib/support.ts";

const folder = await temporaryDirectory();
const release = join(folder, "release");
let names: readonly string[] = [];

/** A copy of the repository: a release builds dist again, beneath the tests that run beside. */
const copy = join(folder, "copy");
const elsewhere = /^(\.git|node_modules|dist|binary|release)$/;
cpSync(root, copy, {
  recursive: true,
  preserveTimestamps: true, // a newer lock file would be installed
  filter: (path) => !elsewhere.test(relative(root, path).replaceAll("\\", "/")),
});
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));

function make(target: string): readonly string[] {
  execFileSync(process.execPath, [join(copy, "scripts", "release.mjs"), target], {
    cwd: copy,
    env: { ...process.env, SOURCE_DATE_EPOCH: "1795219200" }, // the copy has no commits
    stdio: "pipe",
  });
  return readdirSync(target).sort();
}
const nameOf = (pattern: RegExp) => names.find((name) => pattern.test(name)) ?? expect.fail();
const bytesOf = (path: string) => readFileSync(path);

beforeAll(() => {
  names = make(release);
});

/** Runs a program without waiting for the event loop. */
function ran(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...env },
  });
  if (error) throw error;
  return { exit: status, text: `${stdout}${stderr}` };
}

test("the sums are those of all files", () => {
  expect(names).toHaveLength(7);
  expect(ran("sh", ["-c", `cd ${release} && sha256sum -c SHA256SUMS`])).toMatchObject({ exit: 0 });
  const listed = readFileSync(join(release, "SHA256SUMS"), "utf8").trim().split("\n");
  const others = names.filter((name) => name !== "SHA256SUMS");
  expect(listed.map((line) => line.slice(66))).toEqual(others);
});

test("the .deb has manuals, completion and changes where Debian looks for them", () => {
  const { text } = ran("dpkg-deb", ["--contents", join(release, nameOf(/\.deb$/))]);
  for (const path of [
    "man/man1/kb.1.gz",
    "man/man7/kb-wf.7.gz",
    "bash-completion/completions/wf",
    "zsh/vendor-completions/_kb",
    "fish/vendor_completions.d/kb.fish",
    "doc/kb-wf/changelog.gz",
  ])
    expect(text).toContain(` ./usr/share/${path}\n`);
  const about = ran("dpkg-deb", ["--field", join(release, nameOf(/\.deb$/)), "Description"]);
  for (const line of about.text.split("\n")) expect(line.length).toBeLessThan(80);
});

test("package, .deb, bundle and list have the same bytes when they are made again", () => {
  make(join(folder, "again"));
  for (const kind of [/\.tgz$/, /\.deb$/, /\.mcpb$/, /\.cdx\.json$/]) {
    const name = nameOf(kind);
    expect(bytesOf(join(folder, "again", name)).equals(bytesOf(join(release, name))), name).toBe(
      true,
    );
  }
});

test("the list of what is inside has all packages and Node.js, and no references to the outside", () => {
  const text = readFileSync(join(release, nameOf(/\.cdx\.json$/)), "utf8");
  expect(text).not.toMatch(/https?:|externalReferences/);
  const bom = JSON.parse(text) as { readonly components: readonly { readonly purl: string }[] };
  const packaged = readFileSync(join(copy, "dist", "LICENSES.txt"), "utf8");
  const heads = [...packaged.matchAll(/^(\S+) (\d\S*) \([^)]+\)$/gm)];
  const purls = heads.map(
    ([, name = "", version]) => `pkg:npm/${name.replace("@", "%40")}@${version}`,
  );
  expect(heads.map(([, name]) => name)).toContain("undici");
  const program = ran(join(release, nameOf(/-linux-/)), ["--version"], { HOME: folder }).text;
  const node = /\(node v(\S+) /.exec(program)?.[1];
  expect(bom.components.map(({ purl }) => purl)).toEqual([...purls, `pkg:generic/node@${node}`]);
});

describe("install.sh", () => {
  const install = (from: string, home: string) =>
    ran("sh", [join(release, "install.sh"), "--from", from], { HOME: home });

  test("installs for this user, and again over what runs", async () => {
    const home = await temporaryDirectory();
    for (const _ of [1, 2]) expect(install(release, home)).toMatchObject({ exit: 0 });
    expect(readdirSync(join(home, ".local", "bin")).sort()).toEqual(["kb", "wf"]);
    const version = ran(join(home, ".local", "bin", "wf"), ["--version"], { HOME: home });
    expect(version.text).toMatch(/^wf \d/);
  });

  test("takes a release from a server, to another directory", async () => {
    const server = createServer(({ url = "" }, response) => {
      const path = join(release, url);
      response.writeHead(existsSync(path) ? 200 : 404);
      response.end(existsSync(path) ? readFileSync(path) : "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterFile(() => void server.close());
    const home = await temporaryDirectory();
    const { port } = server.address() as AddressInfo;
    // The server is in this process, which must not wait.
    const { spawn } = await import("node:child_process");
    const to = join(home, "programs");
    const line = [join(release, "install.sh"), "--from", `http://127.0.0.1:${port}`, "--to", to];
    const child = spawn("sh", line, { env: { PATH: process.env["PATH"], HOME: home } });
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
    expect(readdirSync(home)).toEqual(["programs"]);
    expect(ran(join(to, "kb"), ["--version"], { HOME: home }).text).toMatch(/^kb \d/);
  });

  test.each([
    ["another program", (at: string) => writeFileSync(at, "#!/bin/sh\necho stolen\n")],
    ["a missing one", (at: string) => execFileSync("rm", [at])],
  ])("installs nothing of a release with %s", async (_, damage) => {
    const [home, from] = [await temporaryDirectory(), join(await temporaryDirectory(), "release")];
    cpSync(release, from, { recursive: true });
    damage(join(from, nameOf(/-linux-/)));
    const { exit, text } = install(from, home);
    expect(exit).toBe(1);
    expect(text).toMatch(/^(cp: .*\n)?install\.sh: (the checksum|cannot read)/);
    expect(existsSync(join(home, ".local"))).toBe(false);
  });

  test("does not take plain HTTP from elsewhere", async () => {
    const { exit, text } = install("http://example.com/release", await temporaryDirectory());
    expect({ exit, text }).toEqual({ exit: 1, text: "install.sh: only https is taken\n" });
  });
});

const hasDebian = process.getuid?.() === 0 && spawnSync("debootstrap", ["--version"]).status === 0;

describe.skipIf(!hasDebian)("a Debian without Node.js (needs root and debootstrap)", () => {
  const system = join(folder, "system");
  const inside = (line: string) =>
    ran("chroot", [system, "/bin/sh", "-c", line], { HOME: "/root" });

  beforeAll(() => {
    execFileSync("debootstrap", ["--variant=minbase", "bookworm", system], { stdio: "ignore" });
    cpSync(release, join(system, "release"), { recursive: true });
    cpSync(join(root, "examples"), join(system, "tour", "examples"), { recursive: true });
    // The tour's directory for temporary files has the same path here and there.
    const alias = join(system, system);
    mkdirSync(alias, { recursive: true });
    symlinkSync("/tmp", join(alias, "tmp"));
  });

  /** The tour of `npm start`, with programs that run inside. */
  function tour(programs: string) {
    const wrappers = join(folder, `wrappers${programs.replaceAll("/", "-")}`);
    mkdirSync(wrappers);
    for (const name of ["kb", "wf"]) {
      const script = `cd /tour && exec ${programs}/"$0" "$@"`;
      const line = `exec /usr/sbin/chroot ${system} /bin/sh -c '${script}' ${name} "$@"`;
      writeFileSync(join(wrappers, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    }
    const line = [join(root, "scripts", "start.mjs"), "--binary", wrappers];
    return ran(process.execPath, line, { TMPDIR: join(system, "tmp") });
  }

  /** The lines of the README that install what a release has. */
  const [one = "", other = ""] =
    /^npm run release && (sh release\/.*)\n(apt .*)$/m
      .exec(textOf("README.md"))
      ?.slice(1)
      .map((line) => line.replace(/ +#.*/, "")) ?? [];

  test.each([
    ["the single file", one, "/root/.local/bin"],
    ["the .deb", other, "/usr/bin"],
  ])("the README's line installs %s, and the tour passes", (_, line, programs) => {
    expect(inside("command -v node").exit).not.toBe(0);
    const installed = inside(`cd / && ${line}`);
    expect(installed.exit, installed.text).toBe(0);
    const { exit, text } = tour(programs);
    expect(text).not.toMatch(/The tour stopped|\(node:\d+\)/);
    expect(exit, text).toBe(0);
  });

  test("the .deb names its libraries and all licenses, and is removed without a trace", () => {
    const needs = ran("dpkg-deb", ["-f", join(release, nameOf(/\.deb$/)), "Depends"]).text;
    expect(needs).toMatch(/^libc6 \(>= [\d.]+\), libstdc\+\+6 \(>= [\d.]+\), libgcc-s1\n$/);
    const terms = inside("cat /usr/share/doc/kb-wf/copyright").text;
    for (const name of ["undici", "Node.js"])
      expect(terms).toMatch(new RegExp(`^${name} \\d`, "m"));
    expect(inside("dpkg --purge kb-wf").exit).toBe(0);
    expect(inside("ls /usr/bin/kb /usr/share/man/man1/kb.1.gz").exit).not.toBe(0);
  });
});

describe("the bundle for MCP clients", () => {
  interface Manifest {
    readonly server: {
      readonly entry_point: string;
      readonly mcp_config: {
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
      };
    };
    readonly user_config: Readonly<Record<string, object>>;
  }
  let place = "";
  let manifest: Manifest;

  beforeAll(async () => {
    place = await temporaryDirectory();
    execFileSync("python3", ["-m", "zipfile", "-e", join(release, nameOf(/\.mcpb$/)), place]);
    manifest = JSON.parse(readFileSync(join(place, "manifest.json"), "utf8")) as Manifest;
  });

  /** Starts its server as a client does that has asked its user for the settings. */
  async function start(settings: Readonly<Record<string, string | undefined>>) {
    const filled = (text: string) =>
      text.replace(/\$\{(?:user_config\.)?(\w+)\}/g, (_, name: string) =>
        name === "__dirname" ? place : (settings[name] ?? expect.fail(name)),
      );
    const { args, env } = manifest.server.mcp_config;
    const values = Object.entries(env).map(([name, value]) => [name, filled(value)]);
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: args.map(filled),
      env: { HOME: dirname(place), ...Object.fromEntries(values) },
    });
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    afterFile(() => client.close());
    return calling(client);
  }

  test("its server reads with the key that its user gives, and only with that", async () => {
    expect(Object.keys(manifest.user_config)).toEqual(["base_url", "key"]);
    expect(manifest.user_config["key"]).toMatchObject({ sensitive: true, required: true });
    expect(existsSync(join(place, manifest.server.entry_point))).toBe(true);
    const server = await testSandbox();
    await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
    const base_url = server.env["KB_BASE_URL"];
    const { client, use } = await start({ base_url, key: server.env["KB_KEY"] });
    const { tools } = await client.listTools();
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([]);
    expect((await use("list")).text).toContain("Handbook");
    const { fail } = await start({ base_url, key: "dataset-of-nobody" });
    expect((await fail("list")).error).toMatchObject({ exit_name: "auth" });
  });

  test("the tool of its format finds it valid (needs the npm package @anthropic-ai/mcpb)", async () => {
    const tools = await temporaryDirectory();
    const packages = ["--ignore-scripts", "--no-audit", "--no-fund", "@anthropic-ai/mcpb@2.1.2"];
    execFileSync("npm", ["install", "--prefix", tools, ...packages], { stdio: "ignore" });
    const mcpb = (...args: readonly string[]) =>
      ran(process.execPath, [join(tools, "node_modules", ".bin", "mcpb"), ...args]);
    const unpacked = join(tools, "unpacked");
    expect(mcpb("unpack", join(release, nameOf(/\.mcpb$/)), unpacked)).toMatchObject({ exit: 0 });
    const { exit, text } = mcpb("validate", join(unpacked, "manifest.json"));
    expect({ exit, text }).toEqual({ exit: 0, text: "Manifest schema validation passes!\n" });
  });
});

test("the workflow that publishes is valid by its schema, and finds its notes", async () => {
  const programs = await pythonWith("check-jsonschema==0.33.3");
  const workflow = join(root, ".github", "workflows", "release.yml");
  const line = ["--builtin-schema", "vendor.github-workflows", workflow];
  expect(ran(join(programs, "check-jsonschema"), line)).toMatchObject({ exit: 0 });
  const [, notes = ""] = /run: (sed .*) > release-notes/.exec(readFileSync(workflow, "utf8")) ?? [];
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const { text } = ran("bash", ["-c", `cd ${root} && ${notes}`], {
    GITHUB_REF_NAME: `v${version}`,
  });
  expect(text).toContain("\n### ");
  expect(text).not.toMatch(/^## /m);
});

test("the workflow's line publishes the package (without sending it)", () => {
  const { jobs } = parse(textOf(".github/workflows/release.yml")) as {
    readonly jobs: { readonly release: { readonly steps: readonly { readonly run?: string }[] } };
  };
  const line = jobs.release.steps.find(({ run = "" }) => run.startsWith("npm publish"))?.run;
  const npm = dirname(execFileSync("which", ["npm"], { encoding: "utf8" }));
  const { exit, text } = ran("sh", ["-c", `${line} --dry-run --registry http://127.0.0.1:9/`], {
    PATH: `${npm}:${dirname(process.execPath)}:/usr/bin:/bin`,
    HOME: folder,
    npm_config_fetch_retries: "0",
  });
  expect(exit, text).toBe(0);
  const packed = nameOf(/\.tgz$/).replace(/-(\d.*)\.tgz$/, "@$1");
  expect(text).toContain(`+ ${packed}\n`);
});
