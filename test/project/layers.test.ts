import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

const source = join(root, "src");

/** Layers a layer may import from, beside itself; `main` and `errors` are files. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  lib: ["errors"],
  errors: ["lib"],
  operations: ["lib"],
  splitting: ["lib"],
  redact: ["lib"],
  host: ["lib", "redact", "errors"],
  api: ["operations", "errors", "lib"],
  config: ["host", "api", "errors", "lib"],
  runs: ["lib", "errors"],
  output: ["operations", "host", "runs", "lib", "errors"],
  resolve: ["operations", "api", "errors", "lib"],
  follow: ["operations", "api", "host/host", "runs", "errors", "lib"],
  commands: [
    "follow",
    "operations",
    "splitting",
    "api",
    "host",
    "config",
    "runs",
    "redact",
    "lib",
    "errors",
    "output/report-model",
  ],
  sandbox: ["operations", "splitting", "lib", "host/lock"],
  cli: [
    "operations",
    "api",
    "host",
    "config",
    "runs",
    "resolve",
    "redact",
    "output",
    "commands",
    "lib",
    "errors",
  ],
  library: [
    "operations",
    "api",
    "host/client-host",
    "config/profiles",
    "resolve",
    "follow",
    "redact",
    "sandbox",
    "errors",
    "lib",
  ],
  main: ["cli", "host", "lib"],
};
/** What a feature may import beside its layer. */
const ofFeature: Readonly<Record<string, readonly string[]>> = {
  "commands/shared/sandbox": ["sandbox"], // starts it
};
/** Packages and the only places that may import them. */
const packages: Readonly<Record<string, RegExp>> = {
  undici: /^(api\/exchange|host\/dispatcher|host\/host)\.ts$/,
  commander: /^cli\//,
  conf: /^host\/node-files\.ts$/,
  "cross-spawn": /^host\/child-process\.ts$/,
  chalk: /^output\//,
  "cli-table3": /^output\//,
  ora: /^output\//,
  "eventsource-parser": /^api\/sse\.ts$/,
  "jq-wasm": /^output\//,
  ignore: /^commands\/kb\/sources\/walk\.ts$/,
  yaml: /^(output\/|lib\/formats\/yaml[\w-]*\.ts$|commands\/(kb\/declarative|wf\/expect)\/)/,
  "fastest-levenshtein":
    /^(lib\/did-you-mean|commands\/measure\/suites\/answers\/compare-answer)\.ts$/,
  n2words: /^commands\/measure\/suites\/answers\/number-words\.ts$/,
  ajv: /^commands\/measure\/suites\/answers\/check-schema\.ts$/,
  diff: /^lib\/word-diff\.ts$/,
  "csv-stringify": /^lib\/formats\/csv\.ts$/,
  "csv-parse": /^(lib\/formats\/rows-file|sandbox\/readers\/csv)\.ts$/,
  "@napi-rs/keyring": /^host\/keyring-child\.ts$/,
  "@modelcontextprotocol/server": /^commands\/assistants\//,
  "@modelcontextprotocol/server/stdio": /^commands\/assistants\/serve\.ts$/,
  "@modelcontextprotocol/server/validators/ajv": /^commands\/assistants\/server\.ts$/,
  "@modelcontextprotocol/node": /^commands\/assistants\/http\.ts$/,
  fflate: /^sandbox\/knowledge\/documents\.ts$/,
  htmlparser2: /^(lib\/formats\/visit-markup|commands\/kb\/sources\/(page-list|charset))\.ts$/,
  "@exodus/bytes/encoding.js": /^(lib\/formats\/encoding|commands\/kb\/sources\/charset)\.ts$/,
  "node-sqlite3-wasm": /^sandbox\/storage\/sqlite\.ts$/,
};

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.replaceAll("\\", "/"));

const layerOf = (file: string) => file.split("/")[0]?.replace(/\.ts$/, "") ?? "";

function importsOf(file: string): string[] {
  const text = readFileSync(join(source, file), "utf8");
  return [...text.matchAll(/(?:^(?:import|export|\}) [^;"]*from |\bimport\()"([^"]+)"/gm)].map(
    (match) => match[1] ?? "",
  );
}

/** `../api/client.ts` seen from `cli/run.ts` → `api/client.ts`. */
const resolved = (file: string, target: string) =>
  new URL(target, `file:///${file}`).pathname.slice(1);

/** What each file imports of src. */
const imports = new Map(
  files.map((file) => [
    file,
    importsOf(file)
      .filter((target) => target.startsWith("."))
      .map((target) => resolved(file, target))
      .filter((path) => files.includes(path)),
  ]),
);

test.each(files)("%s imports only from layers it may know", (file) => {
  const wrong = importsOf(file).filter((target) => {
    if (/^\.\.\/\.\.\/types\/\w+\.d\.c?ts$/.test(target)) return !file.startsWith("library/");
    if (target.startsWith(".")) {
      const path = resolved(file, target).replace(/\.ts$/, "");
      const own = layerOf(file);
      const layers = [own, ...(allowed[own] ?? []), ...(ofFeature[dirname(file)] ?? [])];
      return !layers.some((layer) => path === layer || path.startsWith(`${layer}/`));
    }
    if (target.startsWith("node:")) return false;
    const name = target.startsWith("@") ? target : (target.split("/")[0] ?? "");
    return !packages[name]?.test(file);
  });
  expect(wrong).toEqual([]);
});

/**
 * The feature of a file: commands/assistants, batch, conditions or models, or a folder below commands/kb, wf, shared
 * or measure; the parts of the suites are features as well.
 */
const featureOf = (file: string) =>
  /^commands\/(?:assistants|batch|conditions|models|measure\/suites\/[\w-]+|(?:kb|wf|shared|measure)\/[\w-]+)(?=\/)/.exec(
    file,
  )?.[0];

/** The lists of features: they alone name the files of a feature, which are loaded when a command runs. */
const isFeatureList = (file: string) => /^commands\/(?:kb|wf|shared)\.ts$/.test(file);

test.each(files.filter((file) => !isFeatureList(file)))(
  "%s imports another feature only through its index.ts",
  (file) => {
    const wrong = (imports.get(file) ?? []).filter((path) => {
      const feature = featureOf(path);
      return feature !== undefined && feature !== featureOf(file) && path !== `${feature}/index.ts`;
    });
    expect(wrong.map((path) => `${file} imports ${path}`)).toEqual([]);
  },
);

/** The files that lie above or beside the lists of features. */
const listed = files.filter((file) => file.startsWith("commands/") && !isFeatureList(file));

test.each(listed)("%s does not know the lists of features", (file) => {
  expect((imports.get(file) ?? []).filter(isFeatureList)).toEqual([]);
});

/** Groups of features, and the groups that each stands on. */
const groups: Readonly<Record<string, readonly string[]>> = {
  kb: [],
  wf: [],
  shared: [],
  measure: ["kb", "wf"],
  assistants: ["kb", "wf"],
};
/** The group of a feature; undefined for those that all groups stand on. */
function groupOf(file: string): string | undefined {
  const name = /^commands\/([\w-]+)\//.exec(file)?.[1] ?? "";
  return Object.hasOwn(groups, name) ? name : undefined;
}

test.each(listed)("%s imports only from groups of features below its own", (file) => {
  const own = groupOf(file);
  const known = own === undefined ? [] : [own, ...(groups[own] ?? [])];
  const wrong = (imports.get(file) ?? []).filter((path) => {
    const group = groupOf(path);
    return group !== undefined && !known.includes(group);
  });
  expect(wrong).toEqual([]);
});

test.each(files.filter((file) => file.startsWith("cli/")))("%s knows no feature", (file) => {
  const known = (imports.get(file) ?? []).filter((path) => featureOf(path) !== undefined);
  const allowed = ["commands/batch/index.ts", "commands/conditions/index.ts"];
  const wrong = known.filter((path) => !allowed.includes(path));
  expect(wrong.map((path) => `${file} imports ${path}`)).toEqual([]);
});

/** Groups of nodes that reach each other, each with more than one node (Tarjan). */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  function visit(node: string): number {
    const index = order.size;
    order.set(node, index);
    lowest.set(node, index);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (order.has(next) && !stack.includes(next)) continue;
      const reached = order.has(next) ? (order.get(next) ?? 0) : visit(next);
      lowest.set(node, Math.min(lowest.get(node) ?? index, reached));
    }
    if (lowest.get(node) === index) {
      const circle = stack.splice(stack.indexOf(node));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return lowest.get(node) ?? index;
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return circles;
}

test("no files import each other in a circle, whether types or with import()", () => {
  expect(circlesIn(imports).map((circle) => circle.join(" "))).toEqual([]);
});

/** The folder of a file; main.ts and errors.ts are layers of their own. */
const folderOf = (file: string) => (file.includes("/") ? dirname(file) : file);

/** Circles of places, where `placeOf` tells the place of a file. */
function circlesOf(placeOf: (file: string) => string): string[] {
  const arrows = new Map<string, Set<string>>();
  for (const [file, paths] of imports) {
    const from = placeOf(file);
    const to = arrows.get(from) ?? new Set();
    for (const path of paths) if (placeOf(path) !== from) to.add(placeOf(path));
    arrows.set(from, to);
  }
  const graph = new Map([...arrows].map(([from, to]) => [from, [...to]]));
  return circlesIn(graph).map((circle) => circle.join(" "));
}

test("no two folders import each other", () => {
  expect(circlesOf(folderOf)).toEqual([]);
});

test.each([1, 2, 3, 4])("no two folders import each other at level %d of the tree", (level) => {
  const placeOf = (file: string) => folderOf(file).split("/").slice(0, level).join("/");
  expect(circlesOf(placeOf)).toEqual([]);
});

test("no folder of src is called test", () => {
  expect(files.filter((file) => dirname(file).split("/").includes("test"))).toEqual([]);
});

test("no folder has more than 22 files, no file more than 350 lines", () => {
  const folders = [...new Set(files.map(folderOf))];
  const crowded = folders.filter(
    (one) => files.filter((file) => folderOf(file) === one).length > 22,
  );
  const long = files.filter(
    (file) => readFileSync(join(source, file), "utf8").trimEnd().split("\n").length > 350,
  );
  expect([...crowded, ...long]).toEqual([]);
});

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
  "commands/assistants/http.ts": ["http"], // a server
  "lib/thread.ts": ["worker_threads", "sea"], // a thread for code that may not end
  "sandbox/protocol/response.ts": ["http"], // the words of statuses
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

/** Files of tests that let time pass, and what for. */
const timers: Readonly<Record<string, string>> = {
  "lib/fast-clock.ts": "a clock",
  "lib/support.ts": "the waits of a command, shortened",
  "lib/watchdog.ts": "measures how long a program takes to end",
  "lib/export-scenario.ts": "kills at a random moment",
  "lib/kills.ts": "kills at a random moment",
  "lib/unreaped.ts": "kills at a random moment; a parent that waits for no child",
  "lib/pty.ts": "a terminal that a process which was left behind has open",
  "process/zombies.test.ts": "a parent that waits for no child",
  "process/view-process.test.ts": "a frame of a stopped program is due",
};

test("tests do not sleep", () => {
  const folder = join(root, "test");
  const sleeping = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /(?<!\.d)\.ts$/.test(name))
    .filter((name) =>
      /(?<![.\w])setTimeout\b( as |\()|(; |exec )sleep \d/.test(
        readFileSync(join(folder, name), "utf8"),
      ),
    );
  expect(sleeping.sort()).toEqual(Object.keys(timers).sort());
});

test("no literal with classes of Unicode is in what many commands load", () => {
  // V8 searches all of Unicode for it whenever it reads the file; `patternOf` of src/lib/text.ts makes it when used.
  const literals = files
    .filter((name) => !/^(commands|sandbox)\//.test(name))
    .flatMap((name) => readFileSync(join(source, name), "utf8").split("\n"))
    .filter((line) => /\/[^/`"]*\\p\{/.test(line) && !/^ *(\/\/|\/?\*)|String\.raw/.test(line));
  expect(literals).toEqual([]);
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

test("CONTRIBUTING names every layer, every feature and every directory of tests", () => {
  const text = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const named = [
    ...directoriesIn("src").map((layer) => `src/${layer}`),
    ...directoriesIn("src/commands").filter((name) => !Object.hasOwn(groups, name)),
    ...Object.keys(groups).flatMap((group) =>
      directoriesIn(`src/commands/${group}`).map((feature) => `${group}/${feature}`),
    ),
    ...directoriesIn("test"),
  ];
  expect(named.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test("CONTRIBUTING imports and names only files that exist", () => {
  const text = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  // Examples are in src/commands/kb/<feature> and test/commands/kb.
  const imported = [...text.matchAll(/ from "(\.[^"]+)"/g)].map(([, target = ""]) =>
    target.startsWith("../../lib/sandbox")
      ? join("test/commands/kb", target)
      : join("src/commands/kb/documents", target),
  );
  const named = [...text.matchAll(/(?:src|test|scripts|docs)\/[\w./-]+\.(?:ts|mjs|md)\b/g)].map(
    ([path]) => path,
  );
  const examples = [/\/summary\.ts$/, /\/doc-summary\.test\.ts$/];
  const paths = [...imported, ...named].filter((path) => !examples.some((one) => one.test(path)));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("docs/architecture.md lists at most 18 files for a command line, all of which exist", () => {
  const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
  const [begin = "", ...lists] = text.slice(text.indexOf("## The files to read")).split(/^### /m);
  const pathsIn = (list: string) => {
    const cells = list.split("\n").flatMap((line) => /^\| (`[^|]*)/.exec(line)?.[1] ?? []);
    return cells.flatMap((cell) => cell.match(/[\w./-]+\.ts/g) ?? []);
  };
  const every = pathsIn(begin);
  const found = lists.map((list) => {
    const [, shared, own] = /: (\d+) \+ (\d+) files/.exec(list) ?? [];
    const paths = pathsIn(list);
    const missing = [...every, ...paths].filter((path) => !existsSync(join(source, path)));
    const counts = [Number(shared) - every.length, Number(own) - paths.length];
    return { counts, isShort: every.length + paths.length <= 18, missing };
  });
  expect(found).toEqual(Array(4).fill({ counts: [0, 0], isShort: true, missing: [] }));
});
