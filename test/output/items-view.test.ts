/** The live view of tests, as a terminal shows it. */
import { expect, test } from "vitest";
import type { Host, Output } from "../../src/host/host.ts";
import { report } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print/print.ts";
import { TerminalWriter } from "../../src/output/live/terminal-writer.ts";
import { noTable } from "../../src/output/report-model.ts";
import type { LiveItem, LiveItems, ReportStep } from "../../src/output/report-model.ts";
import { manualClock } from "../lib/manual-clock.ts";
import { plain } from "../lib/printed.ts";
import { terminalOf } from "../lib/terminal.ts";

const name = (number: number) => `Handbook: question ${number} about days of leave`;
const passed = (number: number): LiveItem => ({
  state: "passed",
  seconds: 0.2,
  name: name(number),
});
const failed = (number: number): LiveItem => ({
  state: "failed",
  seconds: 1.3,
  name: name(number),
  lines: [
    { lead: "  expected   ", parts: [{ text: 'text contains "14 weeks"' }] },
    {
      lead: "  actual     ",
      parts: [
        { text: 'it is "You have thirty days of leave a year, and I do not know about parents."' },
      ],
    },
  ],
});

/** A terminal on which 40 tests run, with what the test does between their ends. */
function shown(color = false) {
  const size = { columns: 80, rows: 24 };
  const terminal = terminalOf(size.columns, size.rows);
  const clock = manualClock("2026-11-21T00:00:00Z");
  const writes: string[] = [];
  const stdout: Output = {
    write(text) {
      writes.push(String(text));
      terminal.write(String(text));
      return Promise.resolve();
    },
    isTTY: true,
    get columns() {
      return size.columns;
    },
    terminal: size as unknown as NodeJS.WriteStream, // its rows are all that is read
    closed: false,
  };
  const sleep = (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal);
  const writer = new TerminalWriter({ stdout, stderr: stdout, sleep } as unknown as Host);
  let running: LiveItem[] = [];
  let ended: LiveItem[] = [];
  let [done, failures] = [0, 0];
  const board: LiveItems = {
    running: () => running,
    takeEnded: () => ended.splice(0),
    progress: () => ({ done, total: 40, unit: "tests", failed: failures }),
  };
  return {
    written: () => writes.join(""),
    resize(columns: number, rows: number) {
      terminal.resize(columns, rows);
      Object.assign(size, { columns, rows });
    },
    /** Tests that run, and tests that have ended; resolves to the screen after the next redraw. */
    async draw(numbers: readonly number[], more: readonly LiveItem[] = []) {
      running = numbers.map((each) => ({ state: "running", seconds: 0.4, name: name(each) }));
      ended = [...ended, ...more];
      done += more.length;
      failures += more.filter(({ state }) => state === "failed").length;
      await clock.advance(100);
      return (await terminal.screen()).join("\n").trimEnd().split("\n");
    },
    /** Runs the script, then prints the report; resolves to all lines. */
    async run(script: () => Promise<void>, again?: LiveItems) {
      async function* steps(): AsyncGenerator<ReportStep> {
        yield board;
        await script();
        if (again) yield again;
        yield { data: {}, sections: [], ending: [{ ...noTable, title: "39 of 40 tests passed" }] };
      }
      const style = { ...plain, color, now: clock.now, terminal: writer };
      await render(report, steps(), style, writer.host.stdout);
      return terminal.lines();
    },
  };
}

const upTo = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
const runningLines = (sign: string, numbers: readonly number[]) =>
  numbers.map((each) => `${sign} running      0.4 s  ${name(each)}`);
const details = [
  '  expected   text contains "14 weeks"',
  '  actual     it is "You have thirty days of leave a year, and I do not know',
  '             about parents."',
];

test("tests that run again are shown below those before", async () => {
  const view = shown();
  const ended = [passed(2)];
  const again: LiveItems = {
    running: () => [],
    takeEnded: () => ended.splice(0),
    progress: () => ({ done: 1, total: 1, unit: "tests", failed: 0 }),
  };
  const lines = await view.run(
    async () => void (await view.draw([], [passed(1), failed(2)])),
    again,
  );
  expect(lines.filter((line) => /^[✓✗]/.test(line))).toEqual([
    `✓ passed       0.2 s  ${name(1)}`,
    `✗ failed       1.3 s  ${name(2)}`,
    `✓ passed       0.2 s  ${name(2)}`,
  ]);
});

test("tests turn until they end, and what failed is explained below them", async () => {
  const view = shown();
  let screens: string[][] = [];
  await view.run(async () => {
    screens = [
      await view.draw([1, 2, 3]),
      await view.draw([3, 4], [passed(1), failed(2)]),
      await view.draw(upTo(3, 40)),
    ];
  });
  expect(screens).toEqual([
    [...runningLines("⠙", [1, 2, 3]), "", "Running  0/40 tests"],
    [
      `✓ passed       0.2 s  ${name(1)}`,
      `✗ failed       1.3 s  ${name(2)}`,
      ...details,
      ...runningLines("⠹", [3, 4]),
      "",
      "Running  2/40 tests · 1 failed",
    ],
    // As many as there is room for; what has ended scrolls up.
    [...runningLines("⠸", upTo(3, 23)), "", "Running  2/40 tests · 1 failed"],
  ]);
});

test("all that has ended stays, and of the rest only the report", async () => {
  const view = shown();
  const lines = await view.run(async () => {
    await view.draw([1, 2, 3]);
    await view.draw([3], [passed(1), failed(2)]);
    await view.draw([], upTo(3, 40).map(passed));
  });
  expect(lines).toEqual([
    `✓ passed       0.2 s  ${name(1)}`,
    `✗ failed       1.3 s  ${name(2)}`,
    ...details,
    ...upTo(3, 40).map((each) => `✓ passed       0.2 s  ${name(each)}`),
    "39 of 40 tests passed",
  ]);
});

test("on a terminal that becomes narrower, nothing of the wider lines remains", async () => {
  const view = shown();
  let narrow: string[] = [];
  await view.run(async () => {
    await view.draw([1, 2, 3]);
    view.resize(60, 24);
    narrow = await view.draw([3, 14], [passed(1), failed(2)]);
  });
  expect(narrow).toEqual([
    "✓ passed       0.2 s  Handbook: question 1 about days of le…",
    "✗ failed       1.3 s  Handbook: question 2 about days of",
    "                      leave",
    '  expected   text contains "14 weeks"',
    '  actual     it is "You have thirty days of leave a year,',
    '             and I do not know about parents."',
    "⠹ running      0.4 s  Handbook: question 3 about days of l…",
    "⠹ running      0.4 s  Handbook: question 14 about days of …",
    "",
    "Running  2/40 tests · 1 failed",
  ]);
});

test.each([
  [true, true],
  [false, false],
])("with color %s, the output has colors: %s", async (color, hasColors) => {
  const view = shown(color);
  await view.run(async () => {
    await view.draw([2], [passed(1)]);
    await view.draw([], [failed(2)]);
  });
  // Other sequences move the cursor.
  // oxlint-disable-next-line no-control-regex
  expect(/\u001b\[[\d;]*m/.test(view.written())).toBe(hasColors);
});
