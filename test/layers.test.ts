import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = new URL("../src", import.meta.url).pathname;

/** Rooms a room may import from, beside itself; files directly in src are rooms of their own. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  operations: [],
  errors: [],
  json: [],
  csv: [],
  duration: [],
  "table-file": ["errors", "json"],
  nearest: [],
  report: [],
  "run-text": ["json"],
  "run-trace": ["json", "run-text"],
  version: [],
  secrets: [],
  "is-on": [],
  lock: [],
  host: ["secrets"],
  disk: ["host", "lock"],
  keyring: ["host", "keyring-child"],
  "keyring-child": [],
  api: ["operations", "errors", "json"],
  config: ["host", "errors", "json", "is-on", "api"],
  render: ["operations", "host", "errors", "json", "csv", "report", "run-trace"],
  commands: [
    "secrets",
    "operations",
    "api",
    "errors",
    "json",
    "csv",
    "host",
    "config",
    "duration",
    "table-file",
    "report",
    "run-text",
    "run-trace",
    "version",
    "nearest",
  ],
  sandbox: ["operations", "lock"],
  cli: [
    "operations",
    "api",
    "errors",
    "json",
    "host",
    "secrets",
    "is-on",
    "config",
    "render",
    "commands",
    "version",
    "duration",
    "table-file",
    "nearest",
  ],
  proxies: ["errors"],
  main: ["cli", "host", "errors", "disk", "proxies", "keyring", "secrets"],
};
/** Single files that may do more, and why. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  "commands/sandbox.ts": ["sandbox"], // starts it
};
/** Packages and the only places that may import them. */
const packages: Readonly<Record<string, RegExp>> = {
  undici: /^(api\/client|main|host)\.ts$/,
  commander: /^cli\//,
  "cross-spawn": /^main\.ts$/,
  leven: /^nearest\.ts$/,
  chalk: /^render\//,
  "cli-table3": /^render\//,
  ora: /^render\//,
  "eventsource-parser": /^api\/events\.ts$/,
  "jq-wasm": /^render\//,
  ignore: /^commands\/folder-files\.ts$/,
  yaml: /^(render\/|commands\/(yaml|kb-(file|pull)|expect-file)\.ts$)/,
  "csv-stringify": /^csv\.ts$/,
  "csv-parse": /^(table-file|commands\/log-csv)\.ts$/,
  "@napi-rs/keyring": /^keyring-child\.ts$/,
  "node-sqlite3-wasm": /^sandbox\/store\.ts$/,
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
      const room = roomOf(resolved(file, target));
      const own = roomOf(file);
      return room !== own && ![...(allowed[own] ?? []), ...(exceptions[file] ?? [])].includes(room);
    }
    if (target.startsWith("node:")) return false;
    const name = target.startsWith("@") ? target : (target.split("/")[0] ?? "");
    return !packages[name]?.test(file);
  });
  expect(wrong).toEqual([]);
});

test.each(files.filter((file) => !/^(main|keyring-child)\.ts$/.test(file)))(
  "%s reaches the outside world only through the Host",
  (file) => {
    const text = readFileSync(join(source, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    const found = text.match(
      /(?<![.\w])(process\.|console\.|Date\.now\(|new Date\(\)|setTimeout\(|setInterval\(|Math\.random\()/g,
    );
    expect(found).toBeNull();
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
