import { describe, expect, test } from "vitest";
import { change } from "../../src/commands/kb/changes/change.ts";
import type { DocumentChange } from "../../src/commands/kb/changes/change.ts";
import { countEnded, countOf, countSent, progressOf } from "../../src/commands/kb/changes/tally.ts";
import type { ProgressStep } from "../../src/output/report-model.ts";
import { clockTime } from "../../src/lib/numbers.ts";
import { ProgressLine, TimeLeft } from "../../src/output/live/progress.ts";

const MIB = 2 ** 20;

/** A new file of that many MiB. */
const fileOf = (name: string, mib: number): DocumentChange => ({
  ...change({ action: "create", what: "document", name }),
  document: undefined,
  source: {
    path: name,
    name,
    kind: "file",
    location: name,
    hash: "",
    size: mib * MIB,
    metadata: {},
  },
});

/** Completions at a steady pace, from 1 to `count`, every `gap` ms after `start`. */
const steady = (count: number, gap: number, start = 0): [at: number, done: number][] =>
  Array.from({ length: count }, (_, index) => [start + (index + 1) * gap, index + 1]);

const estimate = (samples: readonly (readonly [number, number])[], begun = 0) => {
  const left = new TimeLeft(0, begun);
  for (const [at, done] of samples) left.add(at, done);
  return left;
};

describe("seconds left", () => {
  test.each<[string, [number, number][], number, number, number | undefined]>([
    ["nothing is done", [], 18, 5000, undefined],
    ["two completions", steady(2, 1500), 18, 3000, undefined],
    ["three in less than two seconds", steady(3, 500), 18, 1500, undefined],
    ["three of 18, one per 1.5 s", steady(3, 1500), 18, 4500, 22.5],
    ["time passes without a completion", steady(3, 1500), 18, 5500, 21.5],
    ["one of 302 after 7 s", [[7000, 1]], 302, 7000, undefined],
    ["4 of 302 after 8 s: too little to tell", steady(4, 2000), 302, 8000, undefined],
    ["5 of 302 after 10 s", steady(5, 2000), 302, 10_000, 594],
    ["16 of 302 after 8 s: a twentieth", steady(16, 500), 302, 8000, 143],
    ["bursts of three, every 1.5 s", [[1500, 3], [3000, 6]], 18, 3000, 6], // prettier-ignore
    ["all are done", steady(18, 1000), 18, 18_000, undefined],
    ["a stall of 15 s", steady(10, 1000), 100, 25_000, 75],
    ["a longer stall", steady(10, 1000), 100, 25_001, undefined],
    ["a long gap between long items is no stall", steady(5, 60_000), 20, 500_000, 700],
  ])("%s", (_, samples, total, now, seconds) => {
    const left = estimate(samples).seconds(total, now);
    expect(left === undefined ? undefined : Math.round(left * 10) / 10).toBe(seconds);
  });

  test("rare completions set the pace, too", () => {
    const rare = steady(20, 30_000);
    expect(estimate(rare).seconds(30, 600_000)).toBe(300);
  });

  test("what an earlier run has done does not count", () => {
    const samples = steady(20, 1000).map(([at, done]): [number, number] => [at, done + 5000]);
    expect(estimate(samples, 5000).seconds(5040, 20_000)).toBe(20);
  });
});

test.each([
  [0.2, "0:01"],
  [42, "0:42"],
  [59.1, "1:00"],
  [725, "12:05"],
  [3600, "1:00:00"],
  [3730, "1:02:10"],
  [360_000, "100:00:00"],
])("%d s is %s", (seconds, text) => expect(clockTime(seconds)).toBe(text));

describe("the line", () => {
  const line = (step: ProgressStep, width?: number, unicode = true) => {
    const progress = new ProgressLine("Syncing", unicode);
    progress.update(step, 0);
    return progress.text(0, width);
  };
  const files = { done: 134, total: 302, unit: "files" };
  const path = "policies/human-resources/europe/germany/parental-leave-1.md";

  test.each<[string, ProgressStep, number, string]>([
    ["a count", { done: 12, unit: "runs" }, 77, "Syncing  12 runs"],
    ["of a total", files, 77, "Syncing  134/302 files"],
    ["large numbers", { ...files, done: 1234, total: 480_574 }, 77, "Syncing  1,234/480,574 files"],
    ["bytes", { done: 3_355_443, total: 15_728_640, unit: "bytes" }, 77, "Syncing  3.2 MiB of 15.0 MiB"], // prettier-ignore
    ["failures", { ...files, failed: 3 }, 77, "Syncing  134/302 files · 3 failed"],
    ["no failures", { ...files, failed: 0 }, 77, "Syncing  134/302 files"],
    ["a verb", { ...files, verb: "Indexing" }, 77, "Indexing  134/302 files"],
    ["a note", { ...files, note: "2 of 7 chunks" }, 77, "Syncing  134/302 files · 2 of 7 chunks"],
    [
      "everything",
      { ...files, failed: 3, current: "it/page-011.md" },
      77,
      "Syncing  134/302 files · 3 failed · it/page-011.md",
    ],
    [
      "a long path keeps its start and its name",
      { ...files, failed: 3, current: path },
      77,
      "Syncing  134/302 files · 3 failed · polic…/parental-leave-1.md",
    ],
    [
      "a narrow terminal keeps the failures",
      { ...files, failed: 3, current: path },
      37,
      "Syncing  134/302 files · 3 failed",
    ],
    ["a very narrow one", { ...files, failed: 3 }, 17, "Syncing  134/302…"],
    ["wide characters", { ...files, current: "会议记录/会议记录会议记录会议记录.md" }, 60, "Syncing  134/302 files · 会议…/会议记录…录.md"], // prettier-ignore
    ["controls", { ...files, current: "a\u001b[31m.md" }, 77, "Syncing  134/302 files · a␛[31m.md"],
  ])("%s", (_, step, width, text) => expect(line(step, width)).toBe(text));

  test("is ASCII where a terminal has no other signs", () => {
    const step = { ...files, failed: 3, current: path };
    expect(line(step, 77, false)).toBe(
      "Syncing  134/302 files, 3 failed, polici.../parental-leave-1.md",
    );
    expect(line(step, 17, false)).toBe("Syncing  134/3...");
  });

  test("has the time left, and the rate if the total is unknown", () => {
    const left = new ProgressLine("Reading", true);
    const rate = new ProgressLine("Reading", true);
    for (let done = 0; done <= 20; done++) {
      left.update({ done, total: 62, unit: "files" }, done * 1000);
      rate.update({ done: done * 100, unit: "runs" }, done * 1000);
    }
    expect(left.text(20_000) + left.timeLeft(20_000)).toBe("Reading  20/62 files · 0:42 left");
    expect(left.timeLeft(20_000, 32)).toBe(" · 0:42 left");
    expect(left.timeLeft(20_000, 31)).toBe("");
    // After a stall it is no longer known.
    expect(left.timeLeft(65_000)).toBe(" · for 1:05");
    expect(rate.text(20_000) + rate.timeLeft(20_000)).toBe("Reading  2,000 runs · 100/s");
  });

  test("the time left follows the cost of the items, where they differ", () => {
    const progress = new ProgressLine("Uploading", true);
    // Ten files cost 1 each and take 1 s; the last one costs 60.
    for (let done = 0; done <= 10; done++)
      progress.update({ done, total: 11, unit: "files", work: { done, total: 70 } }, done * 1000);
    expect(progress.text(10_000) + progress.timeLeft(10_000)).toBe(
      "Uploading  10/11 files · 1:00 left",
    );
  });

  test("the bytes of a large file count while they are sent", () => {
    // 15 MiB cost 61 requests, four small files 1 each.
    const all = ["huge", "a", "b", "c", "d"].map((name) => fileOf(name, name === "huge" ? 15 : 0));
    const [huge = fileOf("", 0), ...small] = all;
    const count = countOf(all);
    const progress = new ProgressLine("Uploading", true);
    const shown = (second: number, current: string) => {
      progress.update({ ...progressOf(count), unit: "files", current }, second * 1000);
      return progress.text(second * 1000) + progress.timeLeft(second * 1000);
    };
    shown(0, "");
    for (const each of small) countEnded(count, each, "create");
    const sent = (mib: number) => countSent(count, huge, { sent: mib * MIB, total: 15 * MIB });
    expect(
      [
        [4, 1],
        [7, 4],
        [8, 5],
        [13, 10],
        [17, 14],
      ].map(([second = 0, mib = 0]) => shown(second, sent(mib))),
    ).toEqual([
      "Uploading  4/5 files · huge, 1.0 MiB of 15.0 MiB · 0:29 left",
      "Uploading  4/5 files · huge, 4.0 MiB of 15.0 MiB · 0:16 left",
      "Uploading  4/5 files · huge, 5.0 MiB of 15.0 MiB · 0:14 left",
      "Uploading  4/5 files · huge, 10.0 MiB of 15.0 MiB · 0:07 left",
      "Uploading  4/5 files · huge, 14.0 MiB of 15.0 MiB · 0:02 left",
    ]);
    countEnded(count, huge, "create");
    expect(shown(18, "huge")).toBe("Uploading  5/5 files · huge");
  });

  test("a new count has a pace of its own", () => {
    const progress = new ProgressLine("Syncing", true);
    for (let done = 0; done <= 10; done++)
      progress.update({ done, total: 10, unit: "files" }, done * 1000);
    progress.update({ verb: "Indexing", done: 0, total: 10, unit: "files" }, 10_000);
    progress.update({ verb: "Indexing", done: 5, total: 10, unit: "files" }, 11_000);
    expect(progress.timeLeft(11_000)).toBe("");
    expect(progress.text(11_000)).toBe("Indexing  5/10 files");
  });
});
