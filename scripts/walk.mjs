// Shows what somebody reads to follow one request: `npm run walk -- kb tag list`, or with lines before it,
// `npm run walk -- 'kb tag create a' 'kb tag rename a b'`. They run against a new sandbox, and the last one is
// traced, also if it fails; without lines, the two below are. Prints how many files
// are loaded, how many the line enters (a named function of them runs), and the files on the way: those on the call
// stack when the line is parsed, a request is sent and output is written, and the row of the request.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import configs from "../rolldown.config.mjs";
import { prepare, root } from "./prepare.mjs";

prepare();
const words = process.argv.slice(2);
/** The words of one line, or lines. */
const given = /^(kb|wf)$/.test(words[0]) ? [words.join(" ")] : words;
const walks =
  given.length > 0
    ? [given]
    : [["kb tag create a", "kb tag rename a b"], ["wf test run examples/suite.yaml --app answers"]];

// Inside node_modules, so that what is not bundled is found. Every module is a file of its own there.
mkdirSync(join(root, "node_modules", ".cache"), { recursive: true });
const folder = mkdtempSync(join(root, "node_modules", ".cache", "kb-wf-walk-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
await build();
for (const lines of walks) {
  const walked = walk(lines);
  if (walked) report(lines.at(-1), walked);
  else process.exitCode = 1;
}

async function build() {
  const config = configs.find(({ input }) => input.main); // that of the programs
  const { codeSplitting: _, ...output } = config.output;
  const bundle = await rolldown({
    ...config,
    input: { main: "src/main.ts" },
    cwd: root,
    logLevel: "silent",
  });
  await bundle.write({
    ...output,
    dir: join(folder, "dist"),
    entryFileNames: "[name].cjs",
    minify: false,
    preserveModules: true,
    preserveModulesRoot: "src",
  });
  await bundle.close();
  for (const program of ["kb", "wf"])
    writeFileSync(join(folder, `${program}.cjs`), `require("./dist/main.cjs").main("${program}");`);
  cpSync(join(root, "package.json"), join(folder, "package.json"));
}

/**
 * Runs the lines, the last one with a trace. Returns its call stacks and the functions that ran, by file; undefined
 * if a line before it fails, whose message is on stderr.
 */
function walk(lines) {
  const [home, stacks] = [join(folder, "home"), join(folder, "stacks.json")];
  const coverage = join(folder, "coverage");
  rmSync(coverage, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  const probe = join(root, "scripts", "walk", "probe.cjs");
  const script = lines.map((line, at) => {
    const [program, ...words] = line.split(" ");
    const run = [join(folder, `${program}.cjs`), ...words].map((word) => `'${word}'`).join(" ");
    const isLast = at === lines.length - 1;
    const traced = `NODE_V8_COVERAGE='${coverage}' WALK_TO='${stacks}' "$NODE" --require '${probe}'`;
    return `${isLast ? traced : '"$NODE"'} ${run} > '${join(folder, "out")}'${isLast ? ' || echo "exit code $?" >&2' : ""}`;
  });
  const argv = [
    join(root, "bin", "kb.js"),
    "sandbox",
    "--ephemeral",
    "--",
    "sh",
    "-ec",
    script.join("\n"),
  ];
  const env = { PATH: process.env.PATH, HOME: home, NODE: process.execPath };
  const stdio = ["ignore", "inherit", "inherit"];
  const { status } = spawnSync(process.execPath, argv, { cwd: root, env, stdio });
  if (status !== 0) return undefined;
  return { stacks: JSON.parse(readFileSync(stacks, "utf8")), ran: functionsIn(coverage) };
}

/** The source file of a module of the build; undefined for packages. */
function sourceOf(path) {
  const [, name] = /\/kb-wf-walk-\w+\/dist\/(?!node_modules|_virtual)(.+)\.cjs/.exec(path) ?? [];
  return name === undefined ? undefined : `src/${name}.ts`;
}

function functionsIn(coverage) {
  const ran = new Map();
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, file), "utf8"));
    for (const { url, functions } of result) {
      const source = sourceOf(url);
      if (source === undefined) continue;
      // The build makes a function `get` for each export, V8 one for the static fields of a class.
      const entered = functions.filter(
        ({ functionName, ranges }) =>
          ranges[0].count > 0 && !["", "get", "<static_initializer>"].includes(functionName),
      );
      ran.set(source, (ran.get(source) ?? 0) + entered.length);
    }
  }
  return ran;
}

function report(line, { stacks, ran }) {
  const entered = [...ran].filter(([, count]) => count > 0);
  const found = stacks.flatMap(({ stack }) =>
    // The outermost call is last.
    stack
      .split("\n")
      .toReversed()
      .flatMap((frame) => sourceOf(frame) ?? []),
  );
  const words = line.split(" ").slice(0, 3).join(" ");
  const rows = [...ran.keys()].filter(
    (file) => file.startsWith("src/operations/") && textOf(file).includes(`command: "${words}`),
  );
  const path = [...new Set([...found, ...rows])];
  console.log(
    `${line}: ${ran.size} files loaded, ${entered.length} entered, ${path.length} to read`,
  );
  for (const file of path)
    console.log(`  ${String(textOf(file).split("\n").length - 1).padStart(4)}  ${file}`);
}

function textOf(file) {
  return readFileSync(join(root, file), "utf8");
}
