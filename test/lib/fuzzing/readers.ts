/** Parsers of files and responses: every input is parsed or is a printable error. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { readEvents } from "../../../src/api/sse.ts";
import { serverEvent } from "../../../src/lib/server-event.ts";
import type { ServerEvent } from "../../../src/lib/server-event.ts";
import { apiErrorOf } from "../../../src/api/api-error.ts";
import { parseQuestions } from "../../../src/commands/measure/eval/questions.ts";
import { readExpectFile } from "../../../src/commands/wf/expect/yaml-file.ts";
import { parseFrontMatter } from "../../../src/lib/formats/yaml.ts";
import { readManifest } from "../../../src/commands/kb/snapshot/bundle.ts";
import { readKbFile } from "../../../src/commands/kb/declarative/file.ts";
import { RecordingReader } from "../../../src/commands/wf/recording/read.ts";
import { readLocalFile } from "../../../src/commands/kb/sync/local-files.ts";
import type { Context } from "../../../src/commands/task/command-spec.ts";
import { unzip } from "../../../src/lib/formats/unzip.ts";
import { readProfiles } from "../../../src/config/profiles.ts";
import { csvLines } from "../../../src/lib/formats/csv.ts";
import type { Files, Host } from "../../../src/host/host.ts";
import { operations } from "../../../src/operations/index.ts";
import { RunTrace } from "../../../src/runs/trace.ts";
import { createZip } from "../zip.ts";
import { readRowFile } from "../../../src/lib/formats/rows-file.ts";
import { temporaryDirectory } from "../support.ts";
import { bytesFrom, randomOf, textFrom } from "./fuzz.ts";
import type { Target } from "./fuzz.ts";
import { areEqual, isTold, readOr } from "./holds.ts";

const target = (
  name: string,
  pieces: readonly (string | readonly string[])[],
  holds: Target<Uint8Array>["holds"],
): Target<Uint8Array> => ({ name, make: (random) => bytesFrom(random, pieces.flat()), holds });

/** Pieces of JSON, with names of inherited properties. */
const json = [
  ["{", "}", "[", "]", ",", ":", '"a"', '"toString"', '"__proto__"', '"', "null", "true", "-1.5"],
  ['{"a": 1}', '{"toString": 1, "valueOf": null}', '["x"]', "{}", "[]", '"\\u0000\\ud800"', " "],
].flat();

/** A disk with one file. */
const oneFile = (bytes: Uint8Array): Files =>
  ({
    stat: () =>
      Promise.resolve({
        size: bytes.length,
        isDirectory: false,
        isFile: true,
        isLink: false,
        mode: 0o600,
      }),
    read: () => Promise.resolve(bytes),
    async *bytes() {
      yield bytes;
    },
  }) as unknown as Files; // the readers under test ask for nothing else

/** A context with one file. */
const contextOf = (bytes: Uint8Array): Context =>
  ({
    host: { files: oneFile(bytes), signal: new AbortController().signal },
    notice: () => Promise.resolve(),
  }) as unknown as Context; // the same

async function* pieces(bytes: Uint8Array, sizeOf: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    const size = sizeOf();
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** Events of a stream up to its end or an error. */
async function heard(bytes: Uint8Array, sizeOf: () => number): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const refused = await readOr(["failure"], async () => {
    for await (const batch of readEvents(pieces(bytes, sizeOf))) found.push(...batch);
    return true;
  });
  return [...found, refused ?? "refused"];
}

/** The same by the algorithm of the standard on server-sent events, section 9.2.6, applied to the whole text. */
function heardByTheStandard(bytes: Uint8Array): readonly unknown[] {
  const text = new TextDecoder().decode(bytes);
  const lines = text.split(/\r\n|\n|\r/);
  lines.pop(); // text without a line end is not a line
  const found: ServerEvent[] = [];
  let data: string[] = [];
  for (const line of lines) {
    if (line !== "") {
      const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
      if (field === "data") data.push(value);
      continue;
    }
    if (data.length === 0) continue;
    const event = eventOf(data);
    if (event === undefined) return [...found, "refused"];
    if (event !== null) found.push(event);
    data = [];
  }
  return [...found, true];
}

/** An event; null for JSON without fields, which is skipped, and undefined for what is not JSON. */
function eventOf(lines: readonly string[]): ServerEvent | null | undefined {
  try {
    const data: unknown = JSON.parse(lines.join("\n"));
    if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
    return serverEvent(data as ServerEvent["data"], lines.join(" "));
  } catch {
    return undefined;
  }
}

const events = target(
  "event streams",
  [
    [
      "data: ",
      "data:",
      "data",
      'data: {"event": "ping"}\n\n',
      "event: ping\n\n",
      ": x\n",
      "id: 1\n",
    ],
    [
      "retry: 5\n",
      "\n",
      "\n\n",
      "\r\n",
      "\r",
      "\r\r",
      "\ufeff",
      "ï»¿",
      '{"event": "漢字"}',
      "{",
      "}",
    ],
    [
      'data: {"event": "text_chunk", "data": {"text": "\\u001b[2J"}}\n\n',
      'data: {"a":\ndata: 1}\n\n',
    ],
  ],
  async (bytes) => {
    const { below } = randomOf(bytes.length);
    const whole = await heard(bytes, () => Math.max(1, bytes.length));
    areEqual(await heard(bytes, () => 1 + below(7)), whole);
    areEqual(whole, heardByTheStandard(bytes));
    const trace = new RunTrace();
    for (const event of whole) if (isEvent(event)) trace.add(event, 0);
  },
);

const isEvent = (value: unknown): value is ServerEvent => typeof value === "object";

const someRows = [undefined, ...operations.filter((_, index) => index % 9 === 0)];

const errorBodies = target(
  "error bodies",
  [
    ['{"code": "', "not_found", "invalid_param", '", "message": "', '", "params": "name"', '"}'],
    [
      '{"message": ',
      '{"errors": {"name": ',
      "1 validation error for X\\nname\\n  Field required [type=",
    ],
    ["For further information", " You have requested this URI [/x]", "<html>", "\n", ...json],
  ],
  (bytes) => {
    const random = randomOf(bytes.length + (bytes[0] ?? 0) * 1000);
    const maybe = (value: string) => (random.chance(0.5) ? value : undefined);
    const error = apiErrorOf(
      {
        status: random.pick([300, 302, 400, 401, 403, 404, 405, 413, 414, 415, 429, 500, 501, 503]),
        headers: {
          "x-version": maybe(random.pick(["1.14.2", "0.9", "x\u009b", ""])),
          "content-type": maybe(random.pick(["text/html", "application/json"])),
          location: maybe("http://x/\u009b31m"),
          "x-request-id": maybe("\u202e"),
        },
        text: new TextDecoder().decode(bytes),
      },
      {
        method: "POST",
        path: "/datasets",
        row: random.pick(someRows),
        writes: random.chance(0.5),
      },
    );
    isTold(error);
    if (error.message.length > 1000) throw new Error("a server makes an error endless");
  },
);

const tables = target(
  "CSV and JSON Lines",
  [
    "a,b\n",
    "name;x",
    '"',
    '""',
    ",",
    "\n",
    "\r\n",
    "\r",
    "x",
    "1",
    '"a,b"',
    '"a\nb"',
    " ",
    ...json,
  ],
  async (bytes) => {
    for (const name of ["rows.csv", "rows.jsonl"]) {
      const table = await readOr(["usage"], () => readRowFile(name, bytes));
      await readOr(["usage"], () => parseQuestions(name, bytes));
      if (!table || table.columns?.includes("")) continue; // a column without a name may vanish
      const again = await readRowFile(name, Buffer.from(table.withOnly(table.rows)));
      areEqual(
        again.rows.map(({ values }) => values),
        table.rows.map(({ values }) => values),
      );
    }
    const lines = await csvLines();
    const random = randomOf(bytes.length);
    const rows = Array.from({ length: 3 }, () =>
      ["a", "b", "c"].map(() =>
        textFrom(random, ['"', ",", "\n", "\r\n", "x", " "]).replace(/\p{Cs}/gu, ""),
      ),
    );
    const written = lines([["a", "b", "c"], ...rows]);
    const read = await readRowFile("x.csv", Buffer.from(written));
    areEqual(
      read.rows.map(({ values }) => Object.values(values)),
      rows,
    );
  },
);

const expectFiles = target(
  "files of expectations",
  [
    [
      "name: x\n",
      "checks:\n",
      "  - run succeeded\n",
      "  - node x ran 2 times\n",
      "  - output a matches /x/\n",
      "required: [a, b]\n",
      "order: [[a, b]]\n",
    ],
    [
      "outputs: {a: {equals: 1, matches: /x/}}\n",
      "tokens: {max: 5, nodes: {a: 1}}\n",
      "&a ",
      "*a",
      "<<: *a\n",
      "!!set ",
      "? ",
    ],
    [
      "---\n",
      "...\n",
      "- ",
      ": ",
      "{",
      "}",
      "[",
      "]",
      "|\n",
      ">-\n",
      "\t",
      "# x\n",
      "%YAML 1.1\n",
      "'",
    ],
  ],
  async (bytes) => {
    await readOr(["usage"], () => readExpectFile("x.yml", oneFile(bytes)));
  },
);

const kbFiles = target(
  "files of knowledge bases",
  [
    [
      "knowledge_base: x\n",
      "description: y\n",
      "permission: only_me\n",
      "tags: [a]\n",
      "metadata:\n",
    ],
    [
      "  team: string\n",
      "  toString: time\n",
      "documents:\n",
      "  directory: .\n",
      "  prune: true\n",
    ],
    [
      "retrieval_model:\n",
      "  top_k: 3\n",
      "&a ",
      "*a",
      "<<: *a\n",
      "!!binary ",
      "? ",
      "---\n",
      "- ",
    ],
    [
      "&b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n",
      "{",
      "}",
      "[",
      "]",
      ": ",
      "|\n",
      "null",
      "__proto__: 1\n",
    ],
  ],
  async (bytes) => {
    await readOr(["usage"], () => readKbFile("kb.yml", oneFile(bytes)));
  },
);

const frontMatters = target(
  "front matter and names of synced files",
  [
    [
      "---\n",
      "---\r\n",
      "...\n",
      "\ufeff",
      "title: x\n",
      "tags: [a, b]\n",
      "date: 2026-05-01\n",
      "a: &a 1\n",
    ],
    [
      "b: *a\n",
      "? [x]\n",
      "- ",
      "{",
      "}",
      ": ",
      "|\n",
      "text\n",
      "!!js x",
      "<<: *a\n",
      "[*a, *a, *a]\n",
    ],
  ],
  async (bytes) => {
    const text = new TextDecoder().decode(bytes);
    const found = await parseFrontMatter(bytes.length % 2 === 0 ? text : `---\n${text}\n---\n`);
    if (found.kind === "broken" && !(found.line >= 1)) throw new Error(`line ${found.line}`);
    const path = `${text.replaceAll("\0", "").slice(0, 600)}.md`;
    const file = { kind: "file", path, location: "x", size: bytes.length } as const;
    const from = {
      label: "x",
      list: () => Promise.reject(new Error()),
      get: async () => ({ bytes }),
    };
    const local = await readLocalFile(file, { from, prefix: "p", withFrontMatter: true });
    if ("name" in local && [...local.name].length > 200) throw new Error("the name is too long");
  },
);

const recordings = target(
  "recordings",
  [
    [
      '{"recording":1,"started_at":"2026-05-01T10:00:00Z"}\n',
      '{"at":12.5,"event":{"event":"x"}}\n',
    ],
    [
      '{"event":"node_started","data":{"id":"a","created_at":1780000000}}\n',
      '{"end":{"exit":0,"why":"x"}}\n',
    ],
    [
      '{"at":1e400,"event":',
      '{"event":"node_finished","data":{"id":"a","elapsed_time":',
      "}}\n",
      "\n",
    ],
    ['"redacted":true', ...json],
  ],
  async (bytes) => {
    await readOr(["usage"], async () => {
      const trace = new RunTrace();
      let last = -Infinity;
      const recording = new RecordingReader("run.jsonl", contextOf(bytes));
      for await (const batch of recording.read()) {
        for (const event of batch) {
          if (!(event.at >= last)) throw new Error(`${event.at} comes after ${last}`);
          last = event.at;
          trace.add(event, event.at);
        }
      }
      return true;
    });
  },
);

const zips: Target<Uint8Array> = {
  name: "ZIP archives",
  make: (random) => {
    const content = Buffer.from(textFrom(random, ["a", "text\n", "PK\u0003\u0004"]));
    const name = textFrom(random, ["../", "/", "a.md", "\\", "C:", "x"]);
    const stored = Buffer.from(
      createZip(
        [
          { name, bytes: content },
          { name, bytes: content },
        ],
        new Date("2026-05-01T10:00:00Z"),
      ),
    );
    const zip = random.chance(0.5) ? stored : deflated(stored, content);
    for (let left = random.below(4); left > 0; left--) {
      const at = random.below(zip.length);
      zip[at] = random.below(256);
    }
    return random.chance(0.2) ? zip.subarray(0, random.below(zip.length)) : zip;
  },
  holds: async (bytes) => {
    const { below } = randomOf(bytes.length);
    await readOr(["failure"], async () => {
      for await (const file of unzip(pieces(bytes, () => 1 + below(50)))) {
        if (file.length > bytes.length * 1100) throw new Error("the file is too large");
      }
      return true;
    });
  },
};

/** The archive with its first file compressed. */
function deflated(zip: Buffer, content: Uint8Array): Buffer {
  const packed = deflateRawSync(content);
  const head = Buffer.from(zip.subarray(0, 30 + zip.readUInt16LE(26)));
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(packed.length, 18);
  return Buffer.concat([head, packed]);
}

const profileFolder = await temporaryDirectory();

const profiles = target(
  "profile files",
  [
    [
      '{"default": "a", "profiles": {',
      '"a": {"base_url": "https://x/v1", "key": "k"}',
      "}}",
      '"apps": ',
    ],
    ['"read_only": true', '"key_command": "x"', '"default_app"', '"output": "json"', ...json],
  ],
  async (bytes) => {
    await writeFile(join(profileFolder, "profiles.json"), bytes);
    const host = {
      directories: { config: profileFolder },
      files: oneFile(bytes),
    } as unknown as Host;
    const read = async () => {
      const { profiles: found } = await readProfiles(host);
      for (const { key = "" } of Object.values(found)) if (typeof key !== "string") throw key;
      return true;
    };
    await readOr(["usage"], read);
  },
);

const manifests = target(
  "manifests of exports",
  [
    [
      '{"kb_export":1,',
      '"source":{"id":"x"},',
      '"state":{',
      '"settings":{},"fields":[],"tags":[],',
    ],
    [
      '"documents":[',
      '{"name":"a","file":"documents/a.md","metadata":{}}',
      '"chunks":"../x"',
      ...json,
    ],
  ],
  async (bytes) => {
    await readOr(["usage"], () => readManifest("x", oneFile(bytes)));
  },
);

export const readers: readonly Target<Uint8Array>[] = [
  events,
  errorBodies,
  tables,
  expectFiles,
  kbFiles,
  frontMatters,
  recordings,
  zips,
  profiles,
  manifests,
];
