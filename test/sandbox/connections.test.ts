import { expect, test } from "vitest";
import { Connections } from "../../src/sandbox/http/exchange.ts";

/** Requests that enter one after the other; `served` are those that were let in, `end` ends one. */
function requests(limit: number, count: number) {
  const connections = new Connections(limit);
  const served: number[] = [];
  const ends = Array.from({ length: count }, (_, index) => {
    const client = new AbortController();
    void connections.enter(client.signal).then(() => served.push(index));
    return client;
  });
  const end = async (index: number) => {
    ends[index]?.abort();
    await Promise.resolve();
    return served;
  };
  return { served, end };
}

test("the eleventh request waits until one has ended", async () => {
  const { served, end } = requests(10, 12);
  await Promise.resolve();
  expect(served).toHaveLength(10);
  expect(await end(3)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("a client that leaves before it is served takes no connection", async () => {
  const { end } = requests(1, 3);
  expect(await end(1)).toEqual([0]);
  expect(await end(0)).toEqual([0, 2]);
});
