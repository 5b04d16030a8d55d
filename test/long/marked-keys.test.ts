// Command lines of the built programs with marked keys: all that they print, write, and hand to other programs is searched.
import { spawn } from "node:child_process";
import { chmod, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { filesBelow, leaks, markedKey } from "../lib/leak-marks.ts";
import { markedGateway } from "../lib/marked-gateway.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { bin } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

const applications = ["echo", "chat", "answers", "grader", "questioner"] as const;

/** A key of a source: `LeakFileechoQz7` opens `echo`. */
const keyFor = (source: string, app?: string): string =>
  app === undefined ? markedKey("dataset", source) : markedKey("app", `${source}${app}`);
const applicationIn = (key: string): string =>
  applications.find((name) => key.includes(`${name}Qz7`)) ?? "echo";

/** Also halves of a key, as in a shortened text, and both backwards. */
function allLeaks(text: string): readonly string[] {
  return [...leaks(text), ...(text.match(/-\/Leak|\/kaeL|Qz7\+|\+7zQ/g) ?? [])];
}

test("halves of a key, and a key backwards, are found", () => {
  const key = keyFor("File", "echo");
  const backwards = [...key].toReversed().join("");
  for (const text of [key.slice(0, 12), key.slice(14), backwards, backwards.slice(0, 16)])
    expect(allLeaks(`key: ${text}`), text).not.toEqual([]);
  expect(allLeaks("dataset-****0123, app-****echo")).toEqual([]);
});

// A child of the programs writes down what it was given.
const child = (then: string) =>
  `import { appendFileSync } from "node:fs";
appendFileSync(${JSON.stringify("PLACE")}, JSON.stringify([process.argv, process.env]));
${then}`;
const texts: Readonly<Record<string, string>> = {
  "docs/leave.md": "# Leave\n\nThirty days of leave a year.\n",
  "docs/welcome.md": "# Welcome\n\nLaptops wait on day one.\n",
  "list.mjs": child(`const object = { path: "a.md", fingerprint: "1" };
const end = { end: true, complete: true, unsure: [] };
const lines = [object, end].map((each) => JSON.stringify(each));
console.log(process.argv[2] === "list" ? lines.join("\\n") : "Thirty days");`),
  "check.mjs": child("console.log('{\"pass\": true}');"),
  "rows.csv": "name\nred\ngreen\nred\n",
  "faq.csv": "question,answer\nWhere?,Main street\n",
  "runs.csv": "query\nhello\nthere\n",
  "questions.jsonl":
    '{"question":"When do laptops wait?","documents":["welcome.md"],"part":"tune"}\n{"question":"How many days?","documents":["leave.md"],"part":"proof"}\n',
  "arms.yml": "- { search_method: [keyword_search, semantic_search] }\n",
  "handbook.yml": "knowledge_base: Leaves\ndescription: What new colleagues ask\n",
  "labels.csv": "answer,expected,label\n30 days,30 days,pass\nNone,30 days,fail\n",
  "suite.yaml": `tests:
  - { name: repeats, inputs: { query: hello }, expect: [run succeeded], check: { run: [node, check.mjs] } }
  - { name: fails, inputs: { query: other }, expect: [text contains "nowhere"] }
`,
  "sources.yaml": "sources:\n  docs: { kb: Leaves, source: docs, prune: true }\n",
  "mcp.jsonl": [
    {
      method: "initialize",
      id: 1,
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    },
    { method: "notifications/initialized" },
    { method: "tools/list", id: 2 },
    {
      method: "tools/call",
      id: 3,
      params: { name: "search", arguments: { kb: "Leaves", query: "days" } },
    },
    { method: "tools/call", id: 4, params: { name: "nothing", arguments: {} } },
  ]
    .map((each) => `${JSON.stringify({ jsonrpc: "2.0", ...each })}\n`)
    .join(""),
};

/** Command lines with their exit codes; after `<` the file of stdin. */
const lines: readonly (readonly [line: string, exit?: number])[] = [
  ["kb create Leaves --indexing-technique high_quality -vvv"],
  ["kb create Leaves --indexing-technique economy -o json", 5],
  ["kb create Leaves --curl -n"],
  ["kb sync Leaves docs --backup-dir backups -vvv"],
  ["kb sync Leaves docs --metadata team=people -o jsonl"],
  ["kb sync Other docs -o json", 3],
  ["kb sync --config sources.yaml --yes -o json"],
  ["kb sync history"],
  ["kb status Leaves docs -o json"],
  ["kb create Listed --indexing-technique economy"],
  ["kb sync Listed exec:node~list.mjs --yes -vv"],
  ["kb source check node~list.mjs", 14],
  ["kb create FAQ --indexing-technique high_quality"],
  ["kb sync FAQ faq.csv --rows -vv"],
  ["kb sync FAQ git+https://ann:secret@127.0.0.1:9/x -n", 2],
  ["kb list -o json"],
  ["kb list -o csv"],
  ["kb list -o md --output-file list.md"],
  ["kb list -vvv --where documents>0"],
  ["kb list --jq .[].name"],
  ["kb show nothing -o json -vvv", 3],
  ["kb doc list Leaves -vvv"],
  ["kb doc show Leaves leave.md -o yaml"],
  ["kb doc add Leaves new.md --text hello -vv"],
  ["kb doc update Leaves new.md --text changed --dry-run"],
  ["kb doc upload Leaves docs/leave.md --curl"],
  ["kb doc download Leaves leave.md --dir downloads"],
  ["kb doc delete Leaves new.md --yes --backup-dir backups"],
  ["kb undo --list -o json"],
  ["kb undo --yes -vv"],
  ["kb chunk list Leaves leave.md -o jsonl"],
  ["kb chunk add Leaves leave.md --content Added -vvv"],
  ["kb chunk export Leaves chunks.csv"],
  ["kb chunk preview docs/leave.md"],
  ["kb metadata list Leaves -o json"],
  ["kb tag create --each rows.csv --errors-to failed.csv -o json", 10],
  ["kb tag create --each rows.csv --stop-on-error -vvv", 10],
  ["kb search Leaves days -o json"],
  ["kb search --all days -vv"],
  ["kb check Leaves -o html --output-file check.html"],
  ["kb check --all -o openmetrics"],
  ["kb heal Leaves -o json"],
  ["kb lint docs -o json"],
  ["kb export Leaves bundle -vv"],
  ["kb verify bundle Leaves --chunks"],
  ["kb import bundle --name Again --as-is --yes -vvv"],
  ["kb import bundle --name Again", 5],
  ["kb copy Leaves --name Copied --as-is --yes"],
  ["kb backup backups Leaves -o json"],
  ["kb backup list backups"],
  ["kb backup diff backups"],
  ["kb backup drill backups Leaves --yes"],
  ["kb backup restore backups Leaves --name Restored --yes -vv"],
  ["kb backup cat backups Leaves leave.md"],
  ["kb backup prune backups --keep last=1 --yes"],
  ["kb pull Leaves --output-file pulled.yml"],
  ["kb plan handbook.yml -o json"],
  ["kb apply handbook.yml --yes"],
  ["kb eval Leaves questions.jsonl --save eval.json --junit eval.xml -vvv"],
  ["kb eval Leaves questions.jsonl --baseline eval.json -o html --output-file eval.html"],
  ["kb tune Leaves questions.jsonl --arms arms.yml --max-requests 100 --yes -o json"],
  ["kb questions Leaves made.jsonl --app questioner --count 2 --yes"],
  ["kb api GET /datasets -f limit=1 -vvv"],
  ["kb api GET /nowhere -i", 6],
  ["kb api POST /datasets -f name=x --curl"],
  ["kb config explain -o json"],
  ["kb profile list -o json"],
  ["kb doctor -o json -vvv"],
  ["kb doctor --last-error"],
  ["kb completion zsh"],
  ["kb __complete -- kb show L"],
  ["kb mcp --kb Leaves < mcp.jsonl"],
  ["kb skill"],
  ["kb help --json"],
  ["kb list -p nothing -vvv", 2],
  ["kb list --nonsense", 2],
  ["wf --app echo app info -vvv"],
  ["wf --app echo run query=hello --record run.jsonl -vvv"],
  ["wf --app echo run query=hello --record redacted.jsonl --redact -o jsonl"],
  ["wf --app echo run query=hello --curl"],
  ["wf --app echo run query=hello -n -o json"],
  ["wf --app echo run query=hello --detach"],
  ["wf --app echo run query=hello --otlp http://127.0.0.1:9/v1/traces -vv"],
  ["wf --app echo run --each runs.csv --errors-to failed-runs.csv -o json"],
  ["wf --app echo show last --nodes"],
  ["wf --app echo logs export logs.jsonl --state logs.json"],
  ["wf --app echo logs -o yaml --output-file logs.yaml"],
  ["wf --app echo stats -o openmetrics"],
  ["wf replay run.jsonl"],
  ["wf timeline run.jsonl -o html --output-file timeline.html"],
  ["wf --app chat chat send Hello -vvv"],
  ["wf --app chat conversation list -o json"],
  [
    "wf --app echo test run suite.yaml --allow-run --save results.json --junit tests.xml --history history",
    14,
  ],
  [
    "wf --app echo test run suite.yaml --allow-run --baseline results.json --keep all --keep-to kept -vvv",
  ],
  ["wf --app echo test run suite.yaml --allow-run --dry-run --curl"],
  ["wf test calibrate labels.csv --judge grader --criteria Right? --save calibration.json"],
  ["wf test review results.json"],
  ["wf --app echo mcp < mcp.jsonl"],
  ["wf doctor -o json"],
  ["wf doctor --last-error"],
  ["wf --app echo events 00000000-0000-4000-8000-000000000000 -o json", 3],
];

interface Place {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a line; while it runs, the arguments of all processes are read. */
async function run(line: string, { folder, env }: Place, key?: string) {
  const [command = "", input] = line.split(" < ");
  const [program = "", ...args] = command.split(" ").map((word) => word.replaceAll("~", " "));
  const started = spawn(process.execPath, [bin(program), ...args], {
    cwd: join(folder, "files"),
    env: { PATH: process.env["PATH"], HOME: folder, TMPDIR: join(folder, "tmp"), ...env },
  });
  let output = "";
  for (const stream of [started.stdout, started.stderr])
    stream.on("data", (piece: Buffer) => (output += piece.toString("latin1")));
  started.stdin.end(key ?? (input ? texts[input] : ""));
  const closed = new Promise<number | null>((resolve) => started.on("close", resolve));
  const shown = await commandLines();
  return { exit: await closed, output, shown };
}

async function commandLines(): Promise<string> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const all = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")); // it has exited
  return (await Promise.all(all)).join("\n");
}

/** A server without knowledge bases, and a home without profiles. */
async function preparePlace(source: string): Promise<Place> {
  const { env } = await testSandbox({ models: true });
  const base = await markedGateway(env["KB_BASE_URL"] ?? "", applicationIn);
  const folder = await temporaryDirectory();
  await mkdir(join(folder, "tmp"));
  for (const [name, text] of Object.entries(texts)) {
    const path = join(folder, "files", name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text.replace("PLACE", join(folder, "given")));
  }
  const all = { KB_NO_KEYRING: "1", KB_REMEMBER_RUNS: "30d", KB_BASE_URL: base };
  return { folder, env: source === "Env" ? { ...all, KB_KEY: keyFor(source) } : all };
}

/** Stores the keys in the profile file, or a program that prints each of them. */
async function storeKeys(source: string, place: Place): Promise<void> {
  const program = join(place.folder, "password-store.mjs");
  const printed = Object.fromEntries(
    ["kb", ...applications].map((name) => [name, keyFor(source, name === "kb" ? undefined : name)]),
  );
  await writeFile(program, `console.log(${JSON.stringify(printed)}[process.argv[2]]);`);
  await chmod(program, 0o600);
  for (const name of ["kb", ...applications]) {
    const login = name === "kb" ? "kb login work" : `wf login work --app ${name}`;
    const how =
      source === "File"
        ? "--insecure-storage --key-file -"
        : `--key-command node~${program}~${name}`;
    const { exit, output } = await run(`${login} ${how}`, place, `${printed[name]}\n`);
    expect(exit, output).toBe(0);
    expect(allLeaks(output), output).toEqual([]);
  }
}

const withApp = ({ folder, env }: Place, key: string): Place => {
  return { folder, env: { ...env, KB_APP_KEY: key } };
};

/** The files that are meant to hold keys. */
const meant = /^password-store\.mjs$|^\.config\/[^/]+\/profiles\.json$/;

test.each(["Env", "File", "Command"])(
  "keys from %s are nowhere after 100 commands",
  async (source) => {
    const place = await preparePlace(source);
    if (source !== "Env") await storeKeys(source, place);
    const seen: unknown[] = [];
    // A key from the environment is that of one application, which is not named.
    const isAsked = ([line]: (typeof lines)[number]) =>
      source !== "Env" || !/questioner|grader/.test(line);
    const asked = lines.filter(isAsked);
    for (const [line] of asked) {
      const [, app = "echo"] = / --app (\w+)/.exec(line) ?? [];
      const { exit, output, shown } = await (source === "Env"
        ? run(line.replace(` --app ${app}`, ""), withApp(place, keyFor(source, app)))
        : run(line, place));
      seen.push([line, exit, allLeaks(output), allLeaks(shown)]);
    }
    expect(seen).toEqual(asked.map(([line, exit = 0]) => [line, exit, [], []]));
    const written = await filesBelow(place.folder);
    expect(written.get("given")).toContain("PATH");
    const found = [...written]
      .filter(([name]) => source === "Env" || !meant.test(name))
      .map(([name, text]) => [name, allLeaks(name + text)] as const);
    expect(found.filter(([, keys]) => keys.length > 0)).toEqual([]);
    expect(found.length).toBeGreaterThan(60);
  },
);
