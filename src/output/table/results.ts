import type { Output } from "../../host/host.ts";
import { groupDigits } from "../../lib/numbers.ts";
import { asText } from "../../operations/operation.ts";
import type { TerminalForm } from "../../operations/operation.ts";
import { ellipsis } from "../cut.ts";
import { pad, visible, widthOf, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";
import { columnGap } from "./draw-table.ts";
import type { TableField, TableStyle } from "./table.ts";

/**
 * Names of a group that are listed: all of a small one, or else the first ones. A failure can be seen
 * again, but not a deletion, which has no reason, so more of those are listed.
 */
const SMALL_GROUP = 10;
const LARGE_GROUP = 100;
const FIRST_NAMES = 5;

const listedNames = (reason: string): number => (reason === "" ? LARGE_GROUP : SMALL_GROUP);

/** Narrowest text beside the outcome. */
const MIN_TEXT_WIDTH = 20;

type ResultLabels = Extract<TerminalForm, { readonly form: "results" }>;

/** Rows with the same outcome for the same reason. */
interface ResultGroup {
  readonly outcome: string;
  readonly reason: string;
  readonly advice: string;
  readonly color: keyof Colors | undefined;
  /** The first names. */
  readonly names: string[];
  count: number;
}

/**
 * Prints the results of a bulk command on a terminal, and resolves to their number: those that are not
 * routine, with whole names, grouped by outcome and reason. Unless they are live, they are printed at the
 * end, also if the rows end with an error.
 *
 *     failed  60 × not valid UTF-8 text: a.md, b.md, c.md, d.md, e.md, … (all: -o tsv)
 *     delete  it/page-003.md
 */
export async function printResults(
  rows: AsyncIterable<unknown>,
  labels: ResultLabels,
  fieldOf: (label: string) => TableField,
  { style, out }: { readonly style: TableStyle; readonly out: Output },
): Promise<number> {
  const groups = new Map<string, ResultGroup>();
  const write = async () => {
    const text = resultsText([...groups.values()], style, out);
    groups.clear();
    if (text !== "") await out.write(text);
  };
  let count = 0;
  try {
    for await (const row of rows) {
      count++;
      addResult(groups, row, labels, fieldOf);
      if (labels.live) await write();
    }
  } finally {
    await write();
  }
  return count;
}

function addResult(
  groups: Map<string, ResultGroup>,
  row: unknown,
  labels: ResultLabels,
  fieldOf: (label: string) => TableField,
): void {
  const text = (label: string | undefined) => {
    const value = label === undefined ? undefined : fieldOf(label).value(row);
    return value === null || value === undefined ? "" : visible(asText(value));
  };
  const outcome = text(labels.outcome);
  const [reason, advice] = [text(labels.reason), text(labels.advice)];
  if (reason === "" && labels.routine.includes(outcome)) return;
  const key = JSON.stringify([outcome, reason, advice]);
  const group = groups.get(key) ?? {
    outcome,
    reason,
    advice,
    color: fieldOf(labels.outcome).color?.(row),
    names: [],
    count: 0,
  };
  groups.set(key, group);
  group.count++;
  if (group.names.length < listedNames(reason)) group.names.push(text(labels.name));
}

function resultsText(groups: readonly ResultGroup[], style: TableStyle, out: Output): string {
  const width = groups.reduce((most, { outcome }) => Math.max(most, widthOf(outcome)), 0);
  const indent = " ".repeat(width + columnGap.length);
  const available = Math.max(MIN_TEXT_WIDTH, out.columns - indent.length);
  const { colors, unicode } = style;
  return groups
    .map((group) => {
      const { outcome, color, advice } = group;
      const head = pad(outcome, width, "left", color && colors[color](outcome));
      const texts = [
        groupText(group, unicode),
        ...(advice === "" ? [] : [`${unicode ? "→" : "->"} ${advice}`]),
      ];
      const lines = texts.flatMap((text) => wrap(text, available));
      return lines.map((line, at) => `${at === 0 ? head + columnGap : indent}${line}\n`).join("");
    })
    .join("");
}

function groupText({ reason, names, count }: ResultGroup, unicode: boolean): string {
  const [first = ""] = names;
  if (count === 1) return reason === "" ? first : `${first}: ${reason}`;
  const isSmall = count <= listedNames(reason);
  const more = `${ellipsis(unicode)} (all: -o tsv)`;
  const shown = isSmall ? names : [...names.slice(0, FIRST_NAMES), more];
  // A sentence of a server, before names.
  const why = reason.replace(/(?<=[^.])\.$/, "");
  const start = `${groupDigits(count)} ${unicode ? "×" : "x"} `;
  return `${start}${why === "" ? "" : `${why}: `}${shown.join(", ")}`;
}
