import { expect, test } from "vitest";
import { http, rawServer } from "../../lib/raw-server.ts";
import { cli } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const base = "11111111-1111-4111-8111-111111111111";
const batch = "20261121120000123456";

/** A server whose batch stands like this, look after look; the last one stays. */
async function wait(
  looks: readonly (readonly [stage: string, done: number])[],
  world: Pick<World, "elapsed"> = {},
) {
  let look = 0;
  const server = await rawServer([
    (socket) => {
      const [indexing_status, completed_segments] = looks[Math.min(look++, looks.length - 1)] ?? [];
      const document = {
        id: "22222222-2222-4222-8222-222222222222",
        indexing_status,
        completed_segments,
        total_segments: 8,
        error: indexing_status === "error" ? "the model said no" : null,
      };
      socket.end(http(200, JSON.stringify({ data: [document] })));
    },
  ]);
  // Every look at the clock finds it a minute later.
  let now = Date.parse("2026-11-21T12:00:00Z");
  return cli(["kb", "doc", "wait", base, "--batch", batch], {
    env: { KB_BASE_URL: server.baseUrl, KB_KEY: "dataset-x" },
    now: () => new Date((now += 60_000)),
    ...world,
  });
}

test("a document that never moves is told after five minutes and given up after thirty", async () => {
  const ran = await wait([["indexing", 3]]);
  expect(ran.exit).toBe(12);
  expect(ran.err).toContain("no movement for 5 min: 1 documents, ");
  expect(ran.err).toContain("error: no movement for 30 min");
  expect(ran.err.match(/no movement for 5 min/g)).toHaveLength(1);
});

test("as long as chunks are done it goes on, and says how far it is", async () => {
  const slow = Array.from({ length: 9 }, (_, done) => ["indexing", done] as const);
  const ran = await wait([...slow.flatMap((each) => [each, each]), ["completed", 8]]);
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).toContain("0 of 1 documents, 4 of 8 chunks of those under way\n");
  expect(ran.err).not.toContain("no movement");
});

test("an indexing error ends it with 9 and the server's text", async () => {
  const ran = await wait([
    ["waiting", 0],
    ["error", 0],
  ]);
  expect(ran.exit).toBe(9);
  expect(ran.err).toContain("the model said no");
});

test("a clock that is set on by hours, as after sleep, ends no waiting", async () => {
  const looks = Array.from({ length: 40 }, () => ["indexing", 3] as const);
  const ran = await wait([...looks, ["completed", 8]], { elapsed: () => 0 });
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).not.toContain("no movement");
});
