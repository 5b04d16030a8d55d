import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replaced } from "../../scripts/replaced.mjs";
import { root } from "../lib/paths.ts";

// The build fails if a module is not replaced exactly once (scripts/replaced.mjs).
test("at most four modules of packages are replaced, each by the one file that imports it", () => {
  expect(replaced.length).toBeLessThanOrEqual(4);
  for (const [name, importer] of replaced) {
    const text = readFileSync(join(root, "node_modules", `${importer}`), "utf8");
    expect(text.split(new RegExp(`["']${name}["']`))).toHaveLength(2);
  }
});

test("in tests, they are replaced as well: a table has the right widths, and conf hears no signal", async () => {
  const { default: Table } = await import("cli-table3");
  const table = new Table({ chars: { top: "─" }, style: { border: [] } });
  table.push(["👩‍👩‍👧"]);
  expect(table.toString()).toContain("│ 👩‍👩‍👧 │");
  const signals = () => ["SIGINT", "SIGXFSZ"].map((name) => process.listenerCount(name));
  const before = signals();
  await import("conf");
  expect(signals()).toEqual(before);
});
