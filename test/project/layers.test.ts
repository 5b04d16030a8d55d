import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

const source = join(root, "src");

/** Rooms a room may import from, beside itself; `main` and `errors` are files. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  lib: ["errors"],
  errors: ["lib"],
  operations: ["lib"],
  redact: ["lib"],
  host: ["lib", "redact", "errors"],
  api: ["operations", "errors", "lib"],
  config: ["host", "api", "errors", "lib"],
  runs: ["lib", "errors"],
  output: ["operations", "host", "runs", "lib", "errors"],
  commands: [
    "operations",
    "api",
    "host",
    "config",
    "runs",
    "redact",
    "lib",
    "errors",
    "output/report-model",
  ],
  sandbox: ["operations", "lib", "host/lock"],
  cli: [
    "operations",
    "api",
    "host",
    "config",
    "runs",
    "redact",
    "output",
    "commands",
    "lib",
    "errors",
  ],
  main: ["cli", "host"],
};
/** Single files that may do more, and why. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  "commands/shared/sandbox/sandbox.ts": ["sandbox"], // starts it
};
/** Packages and the only places that may import them. */
const packages: Readonly<Record<string, RegExp>> = {
  undici: /^(api\/client|host\/dispatcher|host\/host)\.ts$/,
  commander: /^cli\//,
  conf: /^host\/settings-file\.ts$/,
  "cross-spawn": /^host\/child-process\.ts$/,
  leven: /^lib\/did-you-mean\.ts$/,
  chalk: /^output\//,
  "cli-table3": /^output\//,
  ora: /^output\//,
  "eventsource-parser": /^api\/sse\.ts$/,
  "jq-wasm": /^output\//,
  ignore: /^commands\/kb\/sync\/walk\.ts$/,
  yaml: /^(output\/|lib\/formats\/yaml[\w-]*\.ts$|commands\/(kb\/declarative|wf\/expect)\/)/,
  "fastest-levenshtein": /^commands\/wf\/test\/answers\/similarity\.ts$/,
  diff: /^commands\/wf\/test\/review\/review\.ts$/,
  "csv-stringify": /^lib\/formats\/csv\.ts$/,
  "csv-parse": /^(lib\/formats\/rows-file|sandbox\/readers\/csv)\.ts$/,
  "@napi-rs/keyring": /^host\/keyring-child\.ts$/,
  "@modelcontextprotocol/server": /^commands\/(shared|kb|wf)\/mcp\//,
  "@modelcontextprotocol/server/stdio": /^commands\/shared\/mcp\/serve\.ts$/,
  "@modelcontextprotocol/server/validators/ajv": /^commands\/shared\/mcp\/server\.ts$/,
  "@modelcontextprotocol/node": /^commands\/shared\/mcp\/http\.ts$/,
  fflate: /^sandbox\/knowledge\/documents\.ts$/,
  htmlparser2: /^sandbox\/readers\/markup\.ts$/,
  "node-sqlite3-wasm": /^sandbox\/storage\/sqlite\.ts$/,
};

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.replaceAll("\\", "/"));

const roomOf = (file: string) => file.split("/")[0]?.replace(/\.ts$/, "") ?? "";

function importsOf(file: string): string[] {
  const text = readFileSync(join(source, file), "utf8");
  return [...text.matchAll(/(?:^(?:import|export|\}) [^;"]*from |\bimport\()"([^"]+)"/gm)].map(
    (match) => match[1] ?? "",
  );
}

/** `../api/client.ts` seen from `cli/run.ts` → `api/client.ts`. */
const resolved = (file: string, target: string) =>
  new URL(target, `file:///${file}`).pathname.slice(1);

test.each(files)("%s imports only from rooms it may know", (file) => {
  const wrong = importsOf(file).filter((target) => {
    if (target.startsWith(".")) {
      const path = resolved(file, target).replace(/\.ts$/, "");
      const own = roomOf(file);
      const rooms = [own, ...(allowed[own] ?? []), ...(exceptions[file] ?? [])];
      return !rooms.some((room) => path === room || path.startsWith(`${room}/`));
    }
    if (target.startsWith("node:")) return false;
    const name = target.startsWith("@") ? target : (target.split("/")[0] ?? "");
    return !packages[name]?.test(file);
  });
  expect(wrong).toEqual([]);
});

/** The feature of a file: commands/batch, commands/conditions or a folder under commands/kb, wf or shared. */
const featureOf = (file: string) =>
  /^commands\/(?:batch|conditions|(?:kb|wf|shared)\/[\w-]+)(?=\/)/.exec(file)?.[0];

test.each(files)("%s imports another feature only through its index.ts", (file) => {
  const wrong = importsOf(file)
    .filter((target) => target.startsWith("."))
    .map((target) => resolved(file, target))
    .filter((path) => {
      const feature = featureOf(path);
      return feature !== undefined && feature !== featureOf(file) && path !== `${feature}/index.ts`;
    });
  // A table of commands names the file of each command, which is loaded when the command runs.
  const loadsCommands = /^commands\/\w+\/(test-)?specs\.ts$/.test(file);
  expect(loadsCommands ? wrong.filter((path) => !isLoaded(file, path)) : wrong).toEqual([]);
});

/** Whether a file imports the path dynamically. */
function isLoaded(file: string, path: string): boolean {
  const text = readFileSync(join(source, file), "utf8");
  const loaded = [...text.matchAll(/\bimport\("([^"]+)"\)/g)].map((match) => match[1] ?? "");
  return loaded.some((target) => resolved(file, target) === path);
}

test.each(files.filter((file) => !/^(main|host\/[\w-]+)\.ts$/.test(file)))(
  "%s reaches the outside world only through the Host",
  (file) => {
    const text = readFileSync(join(source, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    const found = text.match(
      /(?<![.\w])(process\.|console\.|Date\.now\(|new Date\(\)|setTimeout\(|setInterval\(|Math\.random\()/g,
    );
    expect(found).toBeNull();
  },
);

/** Modules of Node.js that compute, and reach nothing outside the process. */
const pure = ["buffer", "crypto", "events", "path", "stream", "util", "zlib"];
/** Files that use other modules, and what for. */
const modules: Readonly<Record<string, readonly string[]>> = {
  "cli/trace/wire-log.ts": ["diagnostics_channel"], // what undici sends and receives
  "commands/conditions/claims.ts": ["vm"], // a time limit for regular expressions
  "commands/shared/mcp/http.ts": ["http"], // a server
  "lib/thread.ts": ["worker_threads", "sea"], // a thread for code that may not end
  "sandbox/http/errors.ts": ["http"], // the words of statuses
  "sandbox/http/response.ts": ["http"], // the words of statuses
  "sandbox/http/server.ts": ["http", "fs"], // a server; removes the lock directory of a killed SQLite
};

test.each(files.filter((file) => !/^(host|loader)\//.test(file)))(
  "%s imports no module of Node.js that reaches outside",
  (file) => {
    const text = readFileSync(join(source, file), "utf8");
    const imported = [...text.matchAll(/^import type [^;]*;|["`]node:([\w/]+)["`]/gm)].flatMap(
      ([, name]) => (name === undefined ? [] : [name]),
    );
    const known = [...pure, ...(modules[file] ?? [])];
    expect(imported.filter((name) => !known.includes(name))).toEqual([]);
  },
);

test("every section of docs/server.md that the code cites exists", () => {
  const facts = readFileSync(join(source, "..", "docs", "server.md"), "utf8");
  const sections = new Set([...facts.matchAll(/^#+ ([\d.]+?)\.? /gm)].map(([, number]) => number));
  const cited = files.flatMap((file) =>
    [...readFileSync(join(source, file), "utf8").matchAll(/(?:server |, )§(\d+(?:\.\d+)?)/g)].map(
      ([, number]) => [file, number],
    ),
  );
  expect(cited.length).toBeGreaterThan(100);
  expect(cited.filter(([, number]) => !sections.has(number))).toEqual([]);
});

/** Modules of commands that `load` chooses by a name: they export the same names, like `run`. */
const entryPoints = ["run", "rowWork", "enable", "disable"];

test("an exported name has one meaning in src", () => {
  const homes = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(join(source, file), "utf8");
    for (const [, name = ""] of text.matchAll(
      /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm,
    ))
      homes.set(name, [...(homes.get(name) ?? []), file]);
  }
  const shared = [...homes].filter(
    ([name, where]) => where.length > 1 && !entryPoints.includes(name),
  );
  expect(shared).toEqual([]);
});

/** Names of the directories in one of the project. */
const directoriesIn = (path: string): string[] =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

test("CONTRIBUTING names every room, every feature and every directory of tests", () => {
  const text = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const groups = ["kb", "wf", "shared"];
  const named = [
    ...directoriesIn("src").map((room) => `src/${room}`),
    ...directoriesIn("src/commands").filter((name) => !groups.includes(name)),
    ...groups.flatMap((group) =>
      directoriesIn(`src/commands/${group}`).map((feature) => `${group}/${feature}`),
    ),
    ...directoriesIn("test"),
  ];
  expect(named.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
