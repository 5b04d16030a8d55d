import { expect, test } from "vitest";
import { timeInWords } from "../../src/cli/parse/time-words.ts";

// A Saturday.
const now = new Date("2026-11-21T10:30:00Z");

test.each<[text: string, instant: string, zone?: string]>([
  ["now", "2026-11-21T10:30:00Z"],
  ["1795219614", "2026-11-21T00:06:54Z"],
  ["2h", "2026-11-21T08:30:00Z"],
  ["-1h30m", "2026-11-21T09:00:00Z"],
  ["45 seconds ago", "2026-11-21T10:29:15Z"],
  ["5 min ago", "2026-11-21T10:25:00Z"],
  ["3 hours ago", "2026-11-21T07:30:00Z"],
  ["an hour ago", "2026-11-21T09:30:00Z"],
  ["2 days ago", "2026-11-19T10:30:00Z"],
  ["2d ago", "2026-11-19T10:30:00Z"],
  ["2.days.ago", "2026-11-19T10:30:00Z"],
  ["a week ago", "2026-11-14T10:30:00Z"],
  ["0 days ago", "2026-11-21T10:30:00Z"],
  ["today", "2026-11-21T00:00:00Z"],
  ["today", "2026-11-20T15:00:00Z", "Asia/Tokyo"],
  ["today", "2026-11-21T05:00:00Z", "America/New_York"],
  ["yesterday", "2026-11-20T00:00:00Z"],
  ["yesterday", "2026-11-19T18:30:00Z", "Asia/Kolkata"],
  ["Yesterday 14:30", "2026-11-20T13:30:00Z", "Europe/Berlin"],
  ["yesterday at 9:05", "2026-11-20T09:05:00Z"],
  ["saturday", "2026-11-21T00:00:00Z"],
  ["friday", "2026-11-20T00:00:00Z"],
  ["sunday", "2026-11-15T00:00:00Z"],
  ["monday 08:00", "2026-11-16T08:00:00Z"],
  ["last saturday", "2026-11-14T00:00:00Z"],
  ["last monday", "2026-11-16T00:00:00Z"],
  ["last-week", "2026-11-09T00:00:00Z"],
])("%s is %s in %s", (text, instant, zone = "UTC") => {
  expect(timeInWords(text, now, zone)?.toISOString()).toBe(instant.replace("Z", ".000Z"));
});

test.each<[text: string, now: string, zone: string, instant: string]>([
  // It is Sunday there already.
  ["today", "2026-11-21T20:00:00Z", "Asia/Tokyo", "2026-11-21T15:00:00Z"],
  ["sunday", "2026-11-21T20:00:00Z", "Asia/Tokyo", "2026-11-21T15:00:00Z"],
  ["last week", "2026-11-16T00:00:00Z", "UTC", "2026-11-09T00:00:00Z"],
  // Clocks go from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
  ["yesterday", "2026-03-30T10:00:00Z", "Europe/Berlin", "2026-03-28T23:00:00Z"],
  ["today", "2026-03-29T10:00:00Z", "Europe/Berlin", "2026-03-28T23:00:00Z"],
  ["today 12:00", "2026-03-29T20:00:00Z", "Europe/Berlin", "2026-03-29T10:00:00Z"],
  ["today 02:30", "2026-03-29T10:00:00Z", "Europe/Berlin", "2026-03-29T01:30:00Z"],
  ["today 02:30", "2026-10-25T10:00:00Z", "Europe/Berlin", "2026-10-25T00:30:00Z"],
  ["today 03:00", "2026-10-25T10:00:00Z", "Europe/Berlin", "2026-10-25T02:00:00Z"],
  // This day began at 01:00, because clocks were set forward at midnight.
  ["today", "2026-04-24T10:00:00Z", "Africa/Cairo", "2026-04-23T22:00:00Z"],
  ["2 days ago", "2026-03-30T10:00:00Z", "Europe/Berlin", "2026-03-28T10:00:00Z"],
])("%s at %s in %s is %s", (text, at, zone, instant) => {
  expect(timeInWords(text, new Date(at), zone)?.toISOString()).toBe(instant.replace("Z", ".000Z"));
});

test.each([
  "",
  "tomorrow",
  "yester",
  "mon",
  "2 days",
  "two days ago",
  "2 months ago",
  "last today",
  "last",
  "yesterday 25:00",
  "yesterday 14",
  "9999999999d",
])("%j is not a time", (text) => {
  expect(timeInWords(text, now, "UTC")).toBeUndefined();
});
