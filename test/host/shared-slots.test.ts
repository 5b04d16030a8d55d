import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Host } from "../../src/host/host.ts";
import { diskFiles } from "../../src/host/node-files.ts";
import { SharedSlots } from "../../src/host/shared-slots.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** A process with slots: its time, its files and who of the others is alive. */
async function memberOf(
  directory: string,
  { total = 4, pid = process.pid, files = diskFiles } = {},
) {
  const time = { now: Date.parse("2026-11-22T00:00:00Z") };
  const reasons: string[] = [];
  const abort = new AbortController();
  const host = {
    process: { pid, isAlive: (other: number) => other === process.pid },
    files,
    signal: abort.signal,
    now: () => new Date(time.now),
    elapsed: () => time.now,
    random: Math.random,
    async sleep(ms: number) {
      time.now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      if (abort.signal.aborted) throw new Error("aborted");
    },
  } as unknown as Host; // only what slots use
  const onUnavailable = async (reason: string) => void reasons.push(reason);
  const settings = { total, directory: async () => directory, onUnavailable };
  const slots = new SharedSlots(settings, host);
  const taken: { leave(): void }[] = [];
  /** Takes slots until there are so many; resolves when it has them. */
  const hold = (count: number) =>
    new Promise<void>((resolve) => {
      const go = () => {
        const slot = taken.length < count ? slots.take() : undefined;
        if (slot) taken.push(slot);
        if (taken.length >= count) resolve();
        else if (slot) go();
        else slots.request(go);
      };
      go();
    });
  return { slots, hold, taken, reasons, time, abort };
}

const directoryOf = async () => join(await temporaryDirectory(), "connections", "server");
const names = async (directory: string, sort: string) =>
  (await readdir(directory)).filter((name) => name.startsWith(sort));

test("a process alone has all slots, the last ones first", async () => {
  const directory = await directoryOf();
  const one = await memberOf(directory);
  await one.hold(3);
  expect(await names(directory, "slot")).toEqual(["slot.2", "slot.3", "slot.4"]);
  expect(one.slots.take()).toBeUndefined();
});

test("a slot goes from task to task, and back when there is none", async () => {
  const directory = await directoryOf();
  const one = await memberOf(directory);
  await one.hold(1);
  one.taken[0]?.leave();
  expect(one.slots.take()).toBeDefined();
  expect(await names(directory, "slot")).toEqual(["slot.4"]);
  one.taken[0]?.leave();
  one.slots.settle();
  expect(await readdir(directory)).toEqual([]);
});

test("a second process gets its share when a task of the first one ends", async () => {
  const directory = await directoryOf();
  const [one, two] = [await memberOf(directory), await memberOf(directory)];
  await one.hold(4);
  const both = two.hold(2);
  expect(await names(directory, "slot")).toHaveLength(4);
  for (const task of one.taken) task.leave();
  // The first one looks when a task has ended, and then keeps two of four.
  await new Promise<void>((resolve) => {
    const go = () => {
      one.slots.settle();
      if (two.taken.length === 2) resolve();
      else setImmediate(go);
    };
    go();
  });
  await both;
  expect((await names(directory, "slot")).length).toBeLessThanOrEqual(4);
});

test("slots and files of a process that was killed are free again", async () => {
  const directory = await directoryOf();
  const killed = await memberOf(directory, { pid: 999_999_999 });
  await killed.hold(4);
  const next = await memberOf(directory);
  await next.hold(4);
  expect(await names(directory, "member")).toHaveLength(1);
});

test("no slots are taken while the server wants no requests, as another process was told", async () => {
  const directory = await directoryOf();
  const [one, two] = [await memberOf(directory), await memberOf(directory)];
  await one.hold(1);
  await one.slots.pause(60_000);
  const start = two.time.now;
  await two.hold(1);
  expect(two.time.now - start).toBeGreaterThanOrEqual(60_000);
  expect(await names(directory, "pause")).toEqual([]);
});

test("a directory that cannot be used sets no limit, and is reported once", async () => {
  const directory = await directoryOf();
  await mkdir(join(directory, "../.."), { recursive: true });
  await writeFile(join(directory, ".."), "a file");
  const one = await memberOf(directory);
  await one.hold(20);
  expect(one.reasons).toEqual(["not a directory"]);
});

test("an interrupt ends the waiting", async () => {
  const directory = await directoryOf();
  const [one, two] = [await memberOf(directory), await memberOf(directory)];
  await one.hold(4);
  const waiting = two.hold(4);
  two.abort.abort("SIGINT");
  await waiting;
  expect(two.reasons).toEqual([]);
});

test("the last process removes the directory", async () => {
  const directory = await directoryOf();
  const [one, two] = [await memberOf(directory), await memberOf(directory)];
  await one.hold(1);
  await two.hold(1);
  await one.slots.close();
  expect(await names(directory, "member")).toHaveLength(1);
  await two.slots.close();
  expect(await readdir(join(directory, "../.."))).toEqual([]);
});
