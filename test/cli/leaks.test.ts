import { spawn } from "node:child_process";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import type { RawHost } from "../../src/host/host.ts";
import { memoryKeyring, reachingBus } from "../lib/keyring.ts";
import { filesBelow, leaks, markedKey, spellings } from "../lib/leak-marks.ts";
import { markedGateway } from "../lib/marked-gateway.ts";
import { recordedRun } from "../lib/played-run.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";
import type { World } from "../lib/support.ts";
import { root } from "../lib/paths.ts";

// The programs never print, write or pass on a key. Every key here is marked: each command line
// runs with keys from every source, and all of its output and files are searched.

test.each(Object.entries(spellings))("the search finds a key %s", (_, spell) => {
  expect(leaks(`key=${spell(markedKey("dataset", "Spelled"))}&x`)).toContain("LeakSpelledQz7");
});

test("the search finds a key in a pattern built from it", () => {
  expect(
    leaks("/(?:d|%64)(?:L|%4c)(?:e|%65)(?:a|%61)(?:k|%6b)(?:P|x)(?:Q|x)(?:z|y)(?:7|x)/"),
  ).toEqual(["LeakPQz7"]);
});

// A server that accepts the marked keys and forwards to a sandbox.

const sandbox = await testSandbox();

const base = await markedGateway(sandbox.env["KB_BASE_URL"] ?? "", () => "echo");

/** Where a machine has its keys, and the commands that store them there. */
interface Source {
  readonly env?: Readonly<Record<string, string>>;
  /** Command lines to run first, with their stdin. */
  readonly first?: readonly (readonly [line: string, key: string])[];
  readonly world?: World;
  /** The profile file may contain the keys. */
  readonly inFile?: true;
}

const add = (flags: string) => `login work --base-url ${base}${flags}`;
const fromStdin = (name: string, flags = "") =>
  [
    [`kb ${add(` --key-file -${flags}`)}`, markedKey("dataset", name)],
    [`wf ${add(` --app echo --key-file -${flags}`)}`, markedKey("app", name)],
  ] as const;

const sources: Readonly<Record<string, Source>> = {
  environment: {
    env: {
      KB_BASE_URL: base,
      KB_KEY: markedKey("dataset", "Environment"),
      KB_APP_KEY: markedKey("app", "Environment"),
    },
  },
  "access token": {
    env: {
      KB_BASE_URL: base,
      KB_KEY: markedKey("sk", "Token"),
      KB_APP_KEY: markedKey("sk", "Token"),
    },
  },
  "lower environment": {
    env: { DIFY_BASE_URL: base, DIFY_API_KEY: markedKey("dataset", "Dify") },
  },
  "profile file": { first: fromStdin("File", " --insecure-storage"), inFile: true },
  keyring: { first: fromStdin("Keyring"), world: { keyring: memoryKeyring() } },
  prompt: {
    first: [[`kb ${add("")}`, ""]],
    world: { tty: true, answers: [markedKey("dataset", "Prompt")], keyring: memoryKeyring() },
  },
  command: {
    first: [
      [`kb ${add(" --key-command kb-key")}`, ""],
      [`wf ${add(" --app echo --key-command app-key")}`, ""],
    ],
  },
};

let machines = 0;

/** A machine with a directory: runs command lines, and searches what they leave behind. */
async function machine({ env, first = [], world, inFile }: Source) {
  const number = String(++machines);
  const folder = await temporaryDirectory();
  const place = join(folder, "files");
  await mkdir(join(place, "docs"), { recursive: true });
  const texts = {
    "docs/a.md": "Thirty days of leave.\n",
    "rows.csv": `name\none${number}\ntwo${number}\none${number}\n`,
    "runs.csv": "query\nhello\n",
    "questions.jsonl": '{"question":"How many days?","text":"Thirty days"}\n',
    "handbook.yml": `knowledge_base: Leaves${number}\ndescription: What new colleagues ask\n`,
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(join(place, name), text);
  /** Text appended to files that may be deleted by the end. */
  const written: string[] = [];
  const started: string[] = [];
  const spawn: RawHost["spawn"] = (command, args) => {
    started.push(command, ...args);
    const kinds: Readonly<Record<string, string>> = {
      "kb-key": markedKey("dataset", "Command"),
      "app-key": markedKey("app", "Command"),
    };
    return {
      exit: Promise.resolve(0),
      output: Promise.resolve(kinds[command] ?? ""),
      kill: () => {},
    };
  };
  const files: World["files"] = {
    append: (path, text) => {
      written.push(text);
      return diskFiles.append(path, text);
    },
  };
  const run = async (line: string, more: World = {}) => {
    const words = line
      .replaceAll("@", `${place}/`)
      .replaceAll("#", number)
      .split(" ")
      .map((word) => word.replace("~", " "));
    return cli(words, { folder, files, spawn, ...world, ...more, env: { ...env, ...more.env } });
  };
  for (const [line, key] of first) {
    const ran = await run(line, { stdin: key });
    expect(ran.exit, ran.err).toBe(0);
    expect(leaks(ran.out + ran.err)).toEqual([]);
  }
  return {
    run,
    /** Leaked keys by file or stream, without the places meant for keys. */
    async found(): Promise<readonly (readonly [string, readonly string[]])[]> {
      const texts = new Map(await filesBelow(folder));
      if (inFile) texts.delete("config/profiles.json");
      const all = [
        ...texts,
        ["appended", written.join("")],
        ["started", started.join(" ")],
      ] as const;
      return all
        .map(([name, text]) => [name, leaks(name + text)] as const)
        .filter(([, keys]) => keys.length > 0);
    },
  };
}

/** Command lines of every kind with their exit code; @ is the directory of files, # a number, ~ a space. */
const kbLines: readonly (readonly [line: string, exit: number])[] = [
  ["kb create Leaves# --indexing-technique economy -n", 0],
  ["kb create Leaves# --indexing-technique economy --curl", 0],
  ["kb create Leaves# --indexing-technique economy -vvv", 0],
  ["kb create Leaves# --indexing-technique economy -o json", 5],
  ["kb create Leaves# --indexing-technique economy --if-not-exists", 0],
  ["kb list -vvv", 0],
  ["kb list -o json", 0],
  ["kb show nobody -o json -vvv", 3],
  ["kb sync Leaves# @docs", 0],
  ["kb doc list Leaves# -vv", 0],
  ["kb tag create --each @rows.csv --errors-to @failed.csv -o json", 10],
  ["kb tag create --each @rows.csv --stop-on-error", 10],
  ["kb search Leaves# days -o json", 0],
  ["kb export Leaves# @bundle", 0],
  ["kb verify @bundle Leaves#", 0],
  ["kb import @bundle --name Again#", 0],
  ["kb pull Leaves# --output-file @pulled.yml", 0],
  ["kb plan @handbook.yml -o json", 0],
  ["kb eval Leaves# @questions.jsonl --junit @eval.xml -o json", 0],
  ["kb lint @docs", 0],
  ["kb api GET /datasets -f limit=1 -vvv", 0],
  ["kb api GET /nowhere -o json", 6],
  ["kb api POST /datasets -f name=Leaves# --dry-run", 0],
  ["kb delete Leaves# --no-input", 2],
  ["kb config explain", 0],
  ["kb config explain -o json", 0],
  ["kb profile list -o json", 0],
  ["kb doctor -o json -vvv", 0],
  ["kb help --json", 0],
  ["kb help auth", 0],
  ["kb completion bash", 0],
  ["kb __complete -- kb show ", 0],
  ["kb list --profile nobody", 2],
  ["kb list --nonsense", 2],
];
const wfLines: typeof kbLines = [
  ["wf app info -vvv", 0],
  ["wf run --input query=hello -n", 0],
  ["wf run --input query=hello --curl", 0],
  ["wf run --input query=hello --record @run.jsonl -vvv", 0],
  ["wf run --input query=hello -o jsonl", 0],
  ["wf run --input query=hello --detach", 0],
  ["wf run --each @runs.csv --errors-to @failed.csv -o json", 0],
  ["wf run --input query=hello --expect run~failed --junit @report.xml", 14],
  ["wf events 00000000-0000-4000-8000-000000000000 -o json", 3],
  ["wf replay @run.jsonl", 0],
  ["wf timeline @run.jsonl -o json", 0],
  ["wf logs -o json -vv", 0],
  ["wf logs export @logs.jsonl", 0],
  ["wf stats -o json", 0],
  ["wf config explain", 0],
  ["wf sandbox --ephemeral -- true", 0],
];

/** Every second row has all sources but one. */
const lines: readonly (readonly [source: string, typeof kbLines])[] = [
  ["environment", kbLines],
  ["environment", wfLines],
  ["profile file", wfLines],
  ["profile file", kbLines],
  ["keyring", kbLines],
  ["keyring", wfLines],
  ["command", wfLines],
  ["command", kbLines],
  ["prompt", kbLines],
  ["lower environment", kbLines],
];

test.each(sampled(12, lines))(
  "keys from the %s do not leak into output or files",
  async (name, lines) => {
    const { run, found } = await machine(sources[name] ?? {});
    const seen: unknown[] = [];
    for (const [line] of lines) {
      const ran = await run(line);
      seen.push([line, ran.exit, leaks(ran.out + ran.err)]);
    }
    expect(seen).toEqual(lines.map(([line, exit]) => [line, exit, []]));
    expect(await found()).toEqual([]);
  },
);

// A server that echoes the key wherever it can.

const env = (server: { readonly baseUrl: string }) => ({
  KB_BASE_URL: server.baseUrl,
  KB_KEY: markedKey("dataset", "Echoed"),
  KB_APP_KEY: markedKey("app", "Echoed"),
});
const keyIn = (request: string) =>
  /^authorization: Bearer (.*)$/im.exec(request)?.[1]?.trim() ?? "";

const json = (body: unknown) => JSON.stringify(body);
/** Error responses with the key: status, body, headers. */
const errorResponses: Readonly<
  Record<string, (key: string) => readonly [number, string, Readonly<Record<string, string>>?]>
> = {
  "a message": (key) => [
    401,
    json({ code: "unauthorized", message: `${key} is wrong`, status: 401 }),
  ],
  "a code": (key) => [400, json({ code: key, message: "no", status: 400 })],
  "a field": (key) => [400, json({ code: "invalid_param", message: key, params: key })],
  "old fields": (key) => [400, json({ message: "no", errors: { [key]: key } })],
  "plain text": (key) => [500, `no ${key}`],
  "a URL": (key) => [302, "", { location: `http://127.0.0.1:9/?key=${key}` }],
  headers: (key) => [404, "<html>", { "x-request-id": key, "x-version": key, "retry-after": key }],
};

const echoes = [
  ...Object.keys(errorResponses).map((place) => [place, "as it is"] as const),
  ...Object.keys(spellings).map((how) => ["a message", how] as const),
];

test.each(sampled(12, echoes))(
  "a key echoed in %s, %s, is not printed or written",
  async (place, how) => {
    const server = await rawServer([
      (socket, request) => {
        const key = spellings[how]?.(keyIn(request)) ?? "";
        const [status, body, headers] = errorResponses[place]?.(key) ?? [500, ""];
        socket.end(http(status, body, headers));
      },
    ]);
    const { run, found } = await machine({ env: env(server) });
    for (const line of [
      "kb list --retries 1 -vvv",
      "kb list --retries 0 -o json",
      "kb tag create --each @rows.csv --errors-to @failed.csv --retries 0",
      "kb doctor -o json",
      "wf run --each @runs.csv --errors-to @failed.jsonl -o json",
      "wf logs export @logs.jsonl --retries 0",
    ]) {
      const ran = await run(line);
      expect(ran.exit, line).not.toBe(0);
      expect(leaks(ran.out + ran.err), `${line}: ${ran.out}${ran.err}`).toEqual([]);
    }
    expect(server.requests.length).toBeGreaterThan(5);
    expect(await found()).toEqual([]);
  },
);

/** The events of a failed run with the key in its error and those of its nodes. */
const echoing = (key: string) => {
  const error = JSON.stringify(key).slice(1, -1);
  return recordedRun("run that fails, streaming").map(({ event, raw }) => {
    const text = raw.replaceAll("[Errno 111] Connection refused", error);
    return { event, raw: text, data: JSON.parse(text) as Record<string, unknown> };
  });
};

test.each(sampled(12, Object.entries(spellings)))(
  "a key in the events of a run, %s, does not leak into recordings, reports or messages",
  async (_, spell) => {
    const events = echoing(spell(markedKey("app", "Echoed")));
    const stream = events.map(({ raw }) => `data: ${raw}\n\n`).join("");
    expect(leaks(stream)).not.toEqual([]);
    const server = await rawServer([
      (socket, request) =>
        socket.end(
          request.startsWith("POST")
            ? http(200, stream, { "content-type": "text/event-stream" })
            : http(
                200,
                json({
                  user_input_form: [{ "text-input": { variable: "query", label: "query" } }],
                  name: "echo",
                  mode: "workflow",
                  status: "failed",
                }),
              ),
        ),
    ]);
    const { run, found } = await machine({ env: env(server) });
    for (const [line, exit] of [
      ["wf run --record @run.jsonl --junit @report.xml --expect run~succeeded -vvv", 14],
      ["wf run --record @redacted.jsonl --redact -o json", 9],
      ["wf run --each @runs.csv --errors-to @failed.csv -o json", 10],
    ] as const) {
      const ran = await run(line);
      expect([ran.exit, leaks(ran.err)], ran.err).toEqual([exit, []]);
      // Rows of results have the errors of the runs; all else on stdout is data.
      if (line.includes("--each")) expect(leaks(ran.out)).toEqual([]);
    }
    expect(await found()).toEqual([]);
  },
);

test("requested data is printed unchanged and appears nowhere else", async () => {
  const key = markedKey("dataset", "Echoed");
  const list = json({
    data: [{ id: "1", name: key }],
    has_more: false,
    limit: 20,
    total: 1,
    page: 1,
  });
  const server = await rawServer([(socket) => socket.end(http(200, list, { "x-echo": key }))]);
  const { run, found } = await machine({ env: env(server) });
  expect(JSON.parse((await run("kb list -o json")).out)).toEqual([{ id: "1", name: key }]);
  expect((await run("kb api GET /datasets -i")).out).toContain(`x-echo: ${key}\n`);
  expect(leaks((await run("kb list -o json -vvv")).err)).toEqual([]);
  expect(await found()).toEqual([]);
});

test.each([
  ["as text", "kb list -p work -vvv", /^error: internal error: no \*\*\*\* here\n[^]*\n {4}at /],
  [
    "as JSON",
    "kb list -p work -o json",
    /^\{"error":\{"code":"bug","message":"internal error: no \*\*\*\* here"/,
  ],
])("a crash with a key in its message does not leak it, %s", async (_, line, info) => {
  const { run, found } = await machine({ env: env({ baseUrl: "http://127.0.0.1:9/v1" }) });
  const stat = () => Promise.reject(new Error(`no ${markedKey("app", "Echoed")} here`));
  const ran = await run(line, { files: { stat } });
  expect(ran.exit).toBe(1);
  expect(ran.err).toMatch(info);
  expect(leaks(ran.out + ran.err)).toEqual([]);
  expect(await found()).toEqual([]);
});

/** A long key, and texts that are not a key: name, text, exit code. */
const noKeys: readonly (readonly [string, string, number])[] = [
  [
    "a key of 4,000 characters that a message contains partially",
    markedKey("dataset", "Long") + "aB3-".repeat(993),
    4,
  ],
  ["12,000 characters", markedKey("dataset", "Long") + "aB3-".repeat(3000), 2],
  ["100,000 characters", markedKey("dataset", "Long").repeat(3000), 2],
  ["a bundle of keys", `-----BEGIN-----\n${`${markedKey("dataset", "Pem")}\n`.repeat(150)}`, 2],
  ["two lines", `${markedKey("dataset", "Env")}\nKB_BASE_URL=x`, 2],
];

test.each(sampled(12, noKeys))(
  "%s in place of a key, from every source, does not leak",
  async (_, key, exit) => {
    const server = await rawServer([
      (socket, request) =>
        socket.end(http(401, json({ code: "unauthorized", message: keyIn(request) }))),
    ]);
    const url = { KB_BASE_URL: server.baseUrl };
    const { run, found } = await machine({ env: url, inFile: true });
    const stored = await run("kb login long --insecure-storage --key-file - --no-check", {
      stdin: key,
    });
    expect([stored.exit, leaks(stored.out + stored.err)]).toEqual([exit === 4 ? 0 : exit, []]);
    for (const [line, env] of [
      ["kb list -vvv", { ...url, KB_KEY: key }],
      ["kb list -o json", { ...url, DIFY_API_KEY: key }],
      ["wf app info", { ...url, KB_APP_KEY: key.replace("dataset-", "app-") }],
    ] as const) {
      const ran = await run(line, { env });
      expect([ran.exit, leaks(ran.out + ran.err)]).toEqual([exit, []]);
      expect(ran.err.length).toBeLessThan(2000);
    }
    const shown = await run("kb config explain", { env: { ...url, KB_KEY: key } });
    expect([shown.exit, leaks(shown.out + shown.err)]).toEqual([0, []]);
    expect(server.requests.length).toBe(exit === 4 ? 3 : 0);
    expect(await found()).toEqual([]);
  },
);

const inProxy = markedKey("proxy", "Proxy");
const written = encodeURIComponent(inProxy);

test.each([
  ["HTTPS_PROXY", `http://ann:${written}@127.0.0.1:9`],
  ["http_proxy", `ann:${written}@127.0.0.1:9`],
  ["ALL_PROXY", `http://${written}@127.0.0.1:9`],
])("the password in %s, encoded and decoded, does not leak: %s", async (name, value) => {
  const { run } = await machine({ env: { [name]: value } });
  const stat = () => Promise.reject(new Error(`neither ${inProxy} nor ${value} here`));
  const ran = await run("kb list -vvv", { files: { stat } });
  expect(ran.err).toMatch(/^error: internal error: neither \*{4} nor \S*\*{4}@127.0.0.1:9 here\n/);
  expect(leaks(ran.out + ran.err)).toEqual([]);
});

const password = markedKey("proxy", "Url").replaceAll(/[^A-Za-z0-9]/g, "");

test.each([
  `https://ann:${password}@example.com/v1`,
  `https://${password}@example.com/v1`,
  `https://ann:${password}@exa mple.com/v1`,
  `https://ann:${password}@example.com:99999/v1`,
  `ftp://ann:${password}@example.com/v1`,
  `https://example.com/v1?api_key=${password}`,
  `https://example.com/v1#${password}`,
  `ann:${password}@example.com/v1`,
])("the base URL %s is rejected without leaking it", async (url) => {
  const { run, found } = await machine({});
  for (const ran of [
    await run("kb list", { env: { KB_BASE_URL: url, KB_KEY: "dataset-abcdefgh" } }),
    await run("kb config explain -vvv", { env: { KB_BASE_URL: url } }),
    await cli(["kb", "login", "work", "--base-url", url, "-o", "json"]),
  ]) {
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("invalid base URL");
    expect(leaks(ran.out + ran.err), ran.err).toEqual([]);
  }
  expect(await found()).toEqual([]);
});

// The built programs, with real proxies and child processes.

function built(line: string, folder: string, more: Readonly<Record<string, string>>) {
  const [program = "", ...args] = line.split(" ");
  const child = spawn(process.execPath, [join(root, "bin", `${program}.js`), ...args], {
    cwd: folder,
    env: { HOME: folder, PATH: process.env["PATH"], ...more },
  });
  return child;
}

test.each(sampled(3, ["HTTP_PROXY", "https_proxy"]))(
  "the password in %s does not leak",
  async (variable) => {
    const secret = markedKey("proxy", "Proxy").replaceAll(/[%"\\/]/g, "!");
    const folder = await temporaryDirectory();
    const proxy = await rawServer([
      (socket, request) => socket.end(http(407, request, { "x-echo": request.slice(0, 40) })),
    ]);
    const address = proxy.baseUrl.replace("http://", `http://ann:${encodeURIComponent(secret)}@`);
    const env = { [variable]: address.replace("/v1", ""), KB_KEY: "dataset-abcdefgh" };
    const scheme = variable === "HTTP_PROXY" ? "http" : "https";
    for (const [line, wrong] of [
      ["kb list -vvv --retries 0", false],
      ["kb doctor -o json", false],
      ["kb list -vvv --retries 0", true],
    ] as const) {
      const more = wrong ? { ...env, [variable]: `${address}:x:y` } : env;
      const child = built(line, folder, { ...more, KB_BASE_URL: `${scheme}://127.0.0.1:9/v1` });
      const output = await allOutput(child);
      expect(child.exitCode, output).toBeGreaterThan(0);
      expect(leaks(output), output).toEqual([]);
    }
    expect(proxy.requests.length).toBeGreaterThan(1);
    expect([...(await filesBelow(folder))].filter(([, text]) => leaks(text).length > 0)).toEqual(
      [],
    );
  },
);

/** The arguments, environments and names of all processes. */
async function allProcesses(): Promise<string> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const paths = pids.flatMap((pid) =>
    ["cmdline", "environ", "comm"].map((part) => `/proc/${pid}/${part}`),
  );
  const texts = paths.map((path) => readFile(path, "latin1").catch(() => "")); // it has exited
  return (await Promise.all(texts)).join("\n");
}

async function allOutput(child: ReturnType<typeof built>): Promise<string> {
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => (text += piece.toString("latin1")));
  await new Promise((resolve) => child.on("close", resolve));
  return text;
}

test.runIf(process.platform === "linux")(
  "no process has a key in its arguments or environment while the keyring is used",
  async () => {
    let isSeen = false;
    const login = (home: string, address: string) => {
      const line = `kb login work --base-url ${base} --key-file -`;
      const child = built(line, home, { DBUS_SESSION_BUS_ADDRESS: address });
      child.stdin.end(markedKey("dataset", "Stdin"));
      return { child, ended: allOutput(child) };
    };
    // It may be gone before it is looked for.
    while (!isSeen) {
      const { child, ended, folder } = await reachingBus(login);
      const shown = await allProcesses();
      child.kill("SIGINT");
      await ended;
      isSeen = shown.includes("keyring-child"); // other tests may call theirs, too
      expect(leaks(shown)).not.toContain("LeakStdinQz7");
      // Without an answer of the keyring, the key is stored in the profile file.
      const files = [...(await filesBelow(folder))].filter(([path]) => !/profiles/.test(path));
      expect(files.filter(([, text]) => leaks(text).length > 0)).toEqual([]);
    }
  },
);
