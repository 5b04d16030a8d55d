import { expect, test } from "vitest";
import { CliError } from "../../src/errors.ts";
import type { Output } from "../../src/host/host.ts";
import { plain } from "../lib/printed.ts";
import { checkStyle, render } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";
import { built } from "../lib/built.ts";
import { http, rawServer } from "../lib/raw-server.ts";
import { rareTest } from "../lib/sampled.ts";

// A filter runs in a thread of its own, so that an endless or excessive one can be stopped.

test("an endless filter is stopped by a signal, after results too", async () => {
  const left = new AbortController();
  const written: string[] = [];
  const out: Output = {
    write(text) {
      written.push(String(text));
      setImmediate(() => left.abort("SIGINT")); // the second value is being filtered
      return Promise.resolve();
    },
    isTTY: false,
    columns: Infinity,
    terminal: undefined,
    closed: false,
  };
  async function* values() {
    yield 1;
    yield 2;
  }
  const style: Style = {
    ...plain,
    jq: "if . == 2 then (def f: f; f) else . end",
    stop: { signal: left.signal, error: () => new CliError("interrupted", "interrupted") },
  };
  await checkStyle({ kind: "json" }, style);
  await expect(render({ kind: "json" }, values(), style, out)).rejects.toMatchObject({ exit: 130 });
  expect(written).toEqual(["1\n"]);
});

const list = '{"data":[{"id":"1","name":"a"}],"has_more":false,"total":1,"page":1,"limit":20}';
const server = await rawServer([(socket) => socket.end(http(200, list))]);
const env = { KB_BASE_URL: server.baseUrl };

rareTest("--timeout stops it, and only the error is printed", async () => {
  const ran = await built(["kb", "list", "--jq", "def f: f; f", "--timeout", "3s"], env);
  expect(ran).toMatchObject({ exit: 12, out: "" });
  expect(JSON.parse(ran.err)).toMatchObject({ error: { code: "deadline", exit: 12 } });
  expect(server.requests).toHaveLength(1);
});
