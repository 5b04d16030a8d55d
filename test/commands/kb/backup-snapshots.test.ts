import { expect, test } from "vitest";
import { chooseSnapshot } from "../../../src/commands/kb/backup/snapshots.ts";
import type { BadSnapshot, Snapshot } from "../../../src/commands/kb/backup/store.ts";

const now = new Date("2026-11-27T12:00:00Z");
const kb = { id: "1", name: "Handbook", base_url: "http://127.0.0.1" };

/** A snapshot at an hour of the day, whose ID is the hour. */
const at = (hour: string, more: Partial<Snapshot> = {}): Snapshot => {
  const taken_at = `2026-11-27T${hour}:00:00.000Z`;
  return { id: hour, kb, taken_at, manifest: "", documents: 1, bytes: 1, ...more };
};
const unread = (hour: string): BadSnapshot => ({
  path: hour,
  why: "not valid JSON",
  second: `20261127T${hour}0000Z`,
});
const part = { partial: "without chunks: 1 document" };
const after = { note: "after kb doc delete" };
const ahead = at("14", { order: "2026-11-27T14:00:00.000Z" });

/** What becomes of a choice among snapshots and files that cannot be read, up to an hour. */
const choice = (
  snapshots: readonly Snapshot[],
  bad: readonly BadSnapshot[] = [],
  until?: string,
): string => {
  const ms = until === undefined ? undefined : Date.parse(`2026-11-27T${until}:00:00Z`);
  const { kind, ...found } = chooseSnapshot({ snapshots, bad }, ms, now);
  const { chosen, last } = { chosen: undefined, last: undefined, ...found };
  return [kind, chosen?.id ?? "-", last?.id ?? "-"].join(" ");
};

test.each([
  ["the newest", [at("09"), at("10")], [], undefined, "certain 10 10"],
  ["the newest up to a time", [at("09"), at("11")], [], "10", "certain 09 09"],
  ["the newest complete one", [at("09"), at("10", part)], [], undefined, "certain 09 10"],
  ["none after a command", [at("09"), at("10", after)], [], undefined, "certain 09 10"],
  ["one after a command, up to a time", [at("09"), at("10", after)], [], "11", "certain 10 10"],
  ["no part, up to a time", [at("09"), at("10", part)], [], "11", "certain 09 10"],
  ["none that is complete", [at("09", part)], [], undefined, "none complete - 09"],
  ["none that is so old", [at("09")], [], "08", "none so old - -"],
  ["one of the future", [at("09"), at("13")], [], undefined, "later than now 13 13"],
  ["an older file that cannot be read", [at("10")], [unread("09")], undefined, "certain 10 10"],
  ["a newer file that cannot be read", [at("09")], [unread("10")], undefined, "unread 09 -"],
  ["nothing but a file that cannot be read", [], [unread("10")], undefined, "unread - -"],
  ["a file of after the time", [at("09")], [unread("11")], "10", "certain 09 09"],
  ["a file of before the time", [at("08")], [unread("09")], "10", "unread 08 -"],
  ["a file of the future, up to a time", [at("09")], [unread("13")], "10", "unread 09 -"],
  ["a file of this very second, after the time", [at("09")], [unread("12")], "10", "certain 09 09"],
  ["a file beside a clock ahead", [at("09"), ahead], [unread("11")], "10", "unread 09 -"],
])("a restore takes %s", (_, snapshots, bad, until, expected) => {
  expect(choice(snapshots, bad, until)).toBe(expected);
});

test("a file without a name may be any snapshot", () => {
  const nameless = { path: "x", why: "not the name of a snapshot" };
  expect(choice([at("09")], [nameless])).toBe("unread 09 -");
  expect(choice([at("09")], [nameless], "10")).toBe("unread 09 -");
});
