import { expect } from "vitest";
import { cli } from "./support.ts";
import { endsOf, playedRun } from "./played-run.ts";
import type { Cut, Played, Failure } from "./played-run.ts";

/** Recorded runs and the flags to follow them. */
export const runs: readonly (readonly [title: string, flags: readonly string[]])[] = [
  ["run, streaming", []],
  ["run that fails, streaming", []],
  ["slow run, streaming, a node takes 6 s", []],
  ["run with human input, streaming: ends at the pause", []],
  ["paused run, snapshot and continue_on_pause, form submitted after 3 s", ["--through-pauses"]],
  ["run of increment_loop_with_break_condition_workflow", []],
  ["iteration: array_iteration_formatting_workflow", []],
  ["node that is retried twice, then fails", []],
  ["node that fails with a default value: partial-succeeded", []],
  ["chatflow with iteration and conversation variable", []],
  ["chatflow that pauses", []],
];

/** A lost connection of a random kind at this byte. */
export function cutAt(at: number, random: () => number, silence = false): Cut {
  const kinds = ["end", "truncated", "reset"] as const;
  const failures: readonly Failure[] = [503, 502, "reset", "empty"];
  return {
    at,
    how: silence ? "silence" : (kinds[Math.floor(random() * kinds.length)] ?? "end"),
    lost: Math.floor(random() * 4),
    failures: failures.filter(() => random() < 0.2),
  };
}

const exits: Readonly<Record<string, number>> = {
  succeeded: 0,
  "partial-succeeded": 0,
  failed: 9,
  paused: 8,
};

const inner = ({ data }: Pick<Played, "data">) => (data["data"] ?? {}) as Record<string, unknown>;

/** Identifies an event; undefined for text and the like. */
function keyOf(event: Played): string | undefined {
  const data = inner(event);
  const { event: kind } = event;
  if (kind.startsWith("workflow_")) return [kind, data["reason"], data["status"]].join(" ");
  if (/^node_(started|finished)$/.test(kind)) return [kind, data["id"], data["status"]].join(" ");
  if (kind.startsWith("human_input_")) return [kind, data["node_id"]].join(" ");
  return undefined;
}

/** Node events of containers, and the end of a waiting node: only snapshots have them. */
const onlyInSnapshots = (event: Played): boolean =>
  event.event.startsWith("node_") &&
  (/^(iteration|loop)$/.test(String(inner(event)["node_type"])) ||
    inner(event)["status"] === "paused");

/** A server never sends these again. */
const neverAgain = /^(workflow_started resumption|human_input_form_filled)/;

/**
 * Follows the run over lost connections and compares the output with the complete stream: workflow,
 * node and form events each once and in order, all others equal or announced as a gap.
 */
export async function followsThrough(
  run: readonly Played[],
  flags: readonly string[],
  cuts: readonly Cut[],
): Promise<void> {
  const server = await playedRun(run, cuts);
  const id = String(run[0]?.data["workflow_run_id"]);
  const silent = cuts.some(({ how }) => how === "silence") ? ["--idle-timeout", "0.1s"] : [];
  const ran = await cli(["wf", "events", id, "-F", "-o", "jsonl", ...flags, ...silent], {
    env: { KB_BASE_URL: server.baseUrl, KB_APP_KEY: "app-x" },
  });
  const info = `${JSON.stringify(cuts)}\n${ran.err}\n${ran.out}`;
  const shown = ran.out
    .trimEnd()
    .split("\n")
    .map((raw): Played => {
      const data = JSON.parse(raw) as Record<string, unknown>; // events are objects
      return { event: String(data["event"]), raw, data };
    });
  const last = run.findLast((event) => /^workflow_(finished|paused)$/.test(event.event));
  expect(ran.exit, info).toBe(exits[String(last && inner(last)["status"])]);

  const upTo = last ? run.indexOf(last) + 1 : run.length;
  const expected = run.slice(0, upTo).filter((event) => !onlyInSnapshots(event));
  // A reset drops data in transit, which is never sent again once the run has ended.
  const size = endsOf(run).at(-2) ?? 0;
  const over = cuts.some(({ at, how }) => how === "reset" && at > size);
  checkOrder(expected, shown, over, info);
  checkPieces(expected, shown, info);
  checkFilled(expected, shown, info);
  expect(shown.filter(onlyInSnapshots), info).toEqual([]);
}

/** Checks workflow, node and form events: only events that are never sent again may be missing. */
function checkOrder(
  expected: readonly Played[],
  shown: readonly Played[],
  over: boolean,
  info: string,
): void {
  const keys = expected.map(keyOf).filter((key) => key !== undefined);
  const actual = shown.map(keyOf).filter((key) => key !== undefined);
  const missing = withoutInOrder(keys, actual);
  expect(missing, info).not.toBeUndefined();
  const resumptionLost = missing?.some((key) => key.startsWith("workflow_started resumption"));
  const inexcusable = missing?.filter((key) => {
    // The waiting node starts again under its old ID, which looks like a duplicate if the resumption
    // was lost. No snapshot has a pause that is over.
    const again = keys.filter((each) => each === key).length > 1;
    const past = key.startsWith("workflow_paused") || again;
    return !over && !neverAgain.test(key) && !(resumptionLost && past);
  });
  expect(inexcusable, info).toEqual([]);
  if (missing && missing.length > 0) {
    expect(
      shown.some(({ event }) => event === "_gap"),
      info,
    ).toBe(true);
  }
}

/** Items of `all` that the list lacks; undefined if it has other items or another order. */
function withoutInOrder(all: readonly string[], list: readonly string[]): string[] | undefined {
  const missing: string[] = [];
  let at = 0;
  for (const each of all) {
    if (list[at] === each) at++;
    else missing.push(each);
  }
  return at === list.length ? missing : undefined;
}

/** Checks text, retries and iterations: in order, with a gap announced where some are missing. */
function checkPieces(expected: readonly Played[], shown: readonly Played[], info: string): void {
  const pieces = expected.filter((event) => keyOf(event) === undefined).map(({ raw }) => raw);
  let at = 0;
  let gap = false;
  for (const { event, raw } of shown) {
    if (event === "_gap") gap = true;
    if (!pieces.includes(raw)) continue;
    const next = pieces.indexOf(raw, at);
    expect(next, `${raw} is shown out of order\n${info}`).toBeGreaterThanOrEqual(at);
    if (next > at) expect(gap, `no gap before ${raw}\n${info}`).toBe(true);
    at = next + 1;
    gap = false;
  }
  if (at < pieces.length) expect(gap, `no gap at the end\n${info}`).toBe(true);
}

/** Checks that a filled gap and the text before it equal an output of the run. */
function checkFilled(expected: readonly Played[], shown: readonly Played[], info: string): void {
  const outputs = inner(expected.at(-1) ?? { data: {} })["outputs"];
  for (const event of shown.filter(({ event: kind }) => kind === "_gap_filled")) {
    const { output, from, text } = inner(event);
    const whole = (outputs as Record<string, unknown>)[String(output)];
    // Text has a list as lines.
    const printed = Array.isArray(whole) ? whole.map((item) => `- ${item}`).join("\n") : whole;
    expect(String(printed).slice(Number(from)), info).toBe(text);
  }
}

/** Byte offsets of the ends of events. */
export const eventEnds = (run: readonly Played[]): readonly number[] => endsOf(run).slice(0, -1);
