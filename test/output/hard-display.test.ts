import { describe, expect, test } from "vitest";
import { http, rawServer } from "../lib/raw-server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli } from "../lib/support.ts";

const server = await testSandbox();
await server.cli(["kb", "create", "Colours", "--indexing-technique", "economy"]);

describe("a clock that is changed while a command runs", () => {
  const hour = 3_600_000;

  test.each([-hour, 24 * hour])("by %d ms: durations do not change", async (jump) => {
    const begin = Date.parse("2026-11-21T12:00:00Z");
    let looks = 0;
    let passed = 0;
    const line = "wf --app echo run --input query=x -o name -q --timeout 1d";
    const world = {
      now: () => new Date(looks++ === 0 ? begin : begin + jump),
      elapsed: () => (passed += 10),
    };
    const ran = await server.cli(line.split(" "), world);
    expect(ran).toMatchObject({ exit: 0, err: "" });
    const id = ran.out.trim();
    const info = await server.cli(["wf", "--app", "echo", "events", id, "-F", "-o", "name"], world);
    expect(info.exit, info.err).toBe(0);
    expect(info.err).toMatch(/ in \d+ ms\n/);
  });
});

describe("color", () => {
  const escape = "\u001b[";
  const table: readonly (readonly [
    Readonly<Record<string, string>>,
    readonly string[],
    boolean,
    boolean,
  ])[] = [
    // environment, flags, on a terminal?, in color?
    [{}, [], true, true],
    [{}, [], false, false],
    [{}, ["--color", "auto"], true, true],
    [{}, ["--color", "always"], false, true],
    [{ NO_COLOR: "1" }, ["--color", "always"], false, true],
    [{}, ["--color", "never"], true, false],
    [{ FORCE_COLOR: "1" }, ["--color", "never"], true, false],
    [{ NO_COLOR: "1" }, [], true, false],
    [{ NO_COLOR: "0" }, [], true, false],
    [{ NO_COLOR: "" }, [], true, true],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, [], true, false],
    [{ FORCE_COLOR: "1" }, [], false, true],
    [{ FORCE_COLOR: "0" }, [], false, false],
    [{ CLICOLOR_FORCE: "1" }, [], false, true],
    [{ CLICOLOR_FORCE: "0" }, [], false, false],
    [{ TERM: "dumb" }, [], true, false],
    [{ TERM: "dumb", FORCE_COLOR: "1" }, [], true, true],
  ];

  test.each(table)(
    "%j %j on a terminal %j: of rows and of errors %j",
    async (env, flags, tty, wanted) => {
      const list = await server.cli(["kb", "list", "-o", "grid", ...flags], { env, tty });
      expect(list.out.includes(escape)).toBe(wanted);
      const error = await server.cli(["kb", "show", "nobody", ...flags], { env, tty });
      expect(error.err.includes(escape)).toBe(wanted);
    },
  );
});

describe("on a narrow terminal", () => {
  const name = "n".repeat(10_000);
  const row = { id: "11111111-1111-4111-8111-111111111111", name, binding_count: "1" };

  test.each([0, 1, 10])("of %d columns a name of 10,000 characters is printed", async (columns) => {
    const { baseUrl } = await rawServer([(socket) => socket.end(http(200, JSON.stringify([row])))]);
    const world = { env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-x" }, tty: true, columns };
    const ran = await cli(["kb", "tag", "list"], world);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out.length).toBeLessThan(10_000);
    const whole = await cli(["kb", "tag", "list", "--json"], world);
    expect(JSON.parse(whole.out)).toEqual([row]);
  });
});
