import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { http, rawServer } from "../lib/raw-server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

// Names of JavaScript's own object properties, used as names of profiles, fields and objects: a lookup
// must only find own properties.

const words = ["constructor", "__proto__", "toString"] as const;

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
const origin = sandbox.env["KB_BASE_URL"] ?? "";

await mkdir(join(folder, "config"), { recursive: true });
await writeFile(
  join(folder, "config", "profiles.json"),
  JSON.stringify({
    default: "work",
    profiles: {
      work: {
        base_url: origin,
        key: "dataset-sandbox",
        apps: { support: { key: "app-echo" } },
      },
    },
  }),
);
for (const word of words) await writeFile(join(folder, `${word}.csv`), `${word}\n1\n`);

/** Command lines with W for the word, their exit codes and their environment. */
const lines: readonly (readonly [
  line: string,
  exit: number,
  env?: Readonly<Record<string, string>>,
])[] = [
  ["wf --app W app info --jq .name", 2],
  ["wf -p work --app W app info", 2],
  ["wf app info", 2, { KB_APP: "W" }],
  ["wf app info", 2, { KB_APP: "W", DIFY_API_KEY: "app-review" }],
  ["wf --app W run --input query=x", 2, { DIFY_API_KEY: "app-review" }],
  ["kb list -p W", 2],
  ["kb list", 2, { KB_PROFILE: "W" }],
  ["kb list -o W", 2],
  ["kb list", 2, { KB_OUTPUT: "W" }],
  ["kb list --columns W", 2],
  ["kb list --sort W", 2],
  ["kb list --color W", 2],
  ["kb list --W", 2],
  ["kb W", 2],
  ["kb doc W", 2],
  ["kb help W", 2],
  ["kb help doc W", 2],
  ["kb completion W", 2],
  ["kb profile use W", 3],
  ["kb profile show W", 3],
  ["kb profile remove W -y", 3],
  ["kb show W", 3],
  ["kb delete W -y", 3],
  ["kb tag rename W x", 3],
  ["kb create Fresh --indexing-technique W", 2],
  ["kb create Fresh --permission W", 2],
  ["kb tag create --each @W.csv", 2],
  ["kb sandbox --ephemeral --fault W", 2],
  ["kb api W /datasets", 2],
  ["kb __complete -- list --W ", 0],
  ["kb __complete -- W ", 0],
  ["wf run --input W=x", 2],
  ['wf run --inputs {"W":"x"}', 2],
  ["wf run --each @W.csv", 2],
  ["wf run --input query=x --expect W~x", 2],
  ["wf run --input query=x --only-output W", 3],
  ["wf stats --by W", 2],
  ["wf stats --fail-if W>1", 2],
  ["wf stats --where W>1", 2],
  ["wf logs --status W", 2],
];

test.each(words)(
  "%s is not found as an application, profile, format, column, topic or field",
  async (word) => {
    const seen: unknown[] = [];
    const put = (text: string) => text.replaceAll("W", word).replaceAll("@", `${folder}/`);
    for (const [line, , env = {}] of lines) {
      const ran = await cli(line.split(" ").map(put), {
        folder,
        env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, put(value)])),
      });
      seen.push([line, ran.exit, env]);
      expect(ran.out + ran.err, line).not.toMatch(/native code|function |\[object|internal error:/);
    }
    expect(seen).toEqual(lines.map(([line, exit, env = {}]) => [line, exit, env]));
  },
);

test.each(words)("an application named %s is found", async (word) => {
  const own = await temporaryDirectory();
  const add = ["login", "p", "--base-url", origin, "--app", word, "--key-file", "-"];
  expect((await cli(["wf", ...add], { folder: own, stdin: "app-echo" })).exit).toBe(0);
  const ran = await cli(["wf", "app", "info", "--app", word, "--jq", ".name"], { folder: own });
  expect(ran).toMatchObject({ exit: 0, out: "echo\n" });
});

test.each(words)("objects and fields of a server can be named %s", async (word) => {
  const field = (value: unknown) => `{${JSON.stringify(word)}:${JSON.stringify(value)}}`;
  const document = {
    id: word,
    name: word,
    indexing_status: word,
    display_status: word,
    error: null,
  };
  const server = await rawServer([
    (socket, request) => {
      const path = /^\S+ (\S+)/.exec(request)?.[1] ?? "";
      const list = (rows: string) =>
        `{"data":[${rows}],"has_more":false,"total":2,"limit":20,"page":1}`;
      const failure = JSON.stringify({ code: word, message: word, status: 400 });
      if (path.includes("/documents")) return socket.end(http(200, list(JSON.stringify(document))));
      if (path.includes("/raw")) return socket.end(http(200, `[${field(1)},{"a":2}]`));
      socket.end(http(400, failure));
    },
  ]);
  const env = { KB_BASE_URL: server.baseUrl, KB_KEY: "dataset-x", FORCE_COLOR: "1" };
  const id = "00000000-0000-4000-8000-000000000000";
  for (const [line, exit, out] of [
    [`kb doc list ${id} --color always`, 0, word],
    ["kb api GET /raw -o csv", 0, word],
    ["kb list", 5, ""],
  ] as const) {
    const ran = await cli(line.split(" "), { env, tty: true });
    expect([line, ran.exit]).toEqual([line, exit]);
    expect(ran.out).toContain(out);
    expect(ran.out + ran.err).not.toMatch(/native code|function |\[object|internal error:/);
  }
});
