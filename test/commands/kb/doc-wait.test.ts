import { expect, test } from "vitest";
import { http, rawServer } from "../../lib/raw-server.ts";
import { cli } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const base = "11111111-1111-4111-8111-111111111111";
const batch = "20261121120000123456";

/** Waits for a batch whose status goes through these; the last one remains. */
async function wait(
  statuses: readonly (readonly [stage: string, done: number])[],
  world: Pick<World, "elapsed"> = {},
) {
  let poll = 0;
  const server = await rawServer([
    (socket) => {
      const [indexing_status, completed_segments] =
        statuses[Math.min(poll++, statuses.length - 1)] ?? [];
      const document = {
        id: "22222222-2222-4222-8222-222222222222",
        indexing_status,
        completed_segments,
        total_segments: 8,
        error: indexing_status === "error" ? "the model failed" : null,
      };
      socket.end(http(200, JSON.stringify({ data: [document] })));
    },
  ]);
  // Every reading of the clock is one minute later.
  let now = Date.parse("2026-11-21T12:00:00Z");
  return cli(["kb", "doc", "wait", base, "--batch", batch], {
    env: { KB_BASE_URL: server.baseUrl, KB_KEY: "dataset-x" },
    now: () => new Date((now += 60_000)),
    ...world,
  });
}

test("a stalled document causes a notice after 5 minutes and an error after 30", async () => {
  const ran = await wait([["indexing", 3]]);
  expect(ran.exit).toBe(12);
  expect(ran.err).toContain("no indexing progress for 5 minutes (1 documents pending, e.g. ");
  expect(ran.err).toContain("error: no indexing progress for 30 minutes");
  expect(ran.err.match(/no indexing progress for 5 minutes/g)).toHaveLength(1);
});

test("indexed chunks count as progress", async () => {
  const slow = Array.from({ length: 9 }, (_, done) => ["indexing", done] as const);
  const ran = await wait([...slow.flatMap((each) => [each, each]), ["completed", 8]]);
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).toContain("Indexing  0/1 documents · 4 of 8 chunks · for 36:00\n");
  expect(ran.err).not.toContain("no indexing progress");
});

test("an indexing error gives exit code 9 and the server's message", async () => {
  const ran = await wait([
    ["waiting", 0],
    ["error", 0],
  ]);
  expect(ran.exit).toBe(9);
  expect(ran.err).toContain("the model failed");
});

test("a clock that jumps, as after sleep, does not end the wait", async () => {
  const statuses = Array.from({ length: 40 }, () => ["indexing", 3] as const);
  const ran = await wait([...statuses, ["completed", 8]], { elapsed: () => 0 });
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.err).not.toContain("no indexing progress");
});
