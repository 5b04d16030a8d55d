import { usage } from "../../../errors.ts";
import type { Snapshot } from "./store.ts";

/** The beginnings of ISO dates that are the same within a period; a week by the day of its Monday. */
const periods = {
  hourly: (local: string) => local.slice(0, 13),
  daily: (local: string) => local.slice(0, 10),
  weekly: (local: string) => mondayOf(local.slice(0, 10)),
  monthly: (local: string) => local.slice(0, 7),
  yearly: (local: string) => local.slice(0, 4),
} as const;

type Rule = "last" | keyof typeof periods;

/** How many snapshots each rule keeps, in the order given. */
type Policy = readonly (readonly [rule: Rule, count: number])[];

const rules: readonly string[] = ["last", ...Object.keys(periods)];

/** Parses `daily=7,weekly=4`. Throws usage. */
export const parsePolicy = (texts: readonly string[]): Policy =>
  texts.flatMap((text) =>
    text.split(",").map((part) => {
      const [, rule = "", count = ""] = /^\s*([a-z]+)=(\d{1,6})\s*$/.exec(part) ?? [];
      if (rules.includes(rule)) return [rule as Rule, Number(count)] as const;
      throw usage(
        `invalid --keep ${JSON.stringify(part)}`,
        `expected rule=number, such as daily=7; rules: ${rules.join(", ")}`,
      );
    }),
  );

/**
 * The snapshots of one knowledge base, given oldest first, that a policy keeps, each with the rules that do;
 * pure. Of each period that has snapshots, the newest one is kept, and the newest of all always.
 */
export function keptSnapshots<S extends Pick<Snapshot, "taken_at">>(
  snapshots: readonly S[],
  policy: Policy,
  timeZone: string,
): ReadonlyMap<S, string> {
  const newestFirst = snapshots.toReversed();
  const kept = new Map<S, string>();
  const keep = (snapshot: S, why: string) => {
    const before = kept.get(snapshot);
    kept.set(snapshot, before === undefined ? why : `${before}, ${why}`);
  };
  for (const [rule, count] of policy) {
    const seen = new Set<string>();
    for (const snapshot of newestFirst) {
      const period =
        rule === "last" ? snapshot.taken_at : periods[rule](localTime(snapshot.taken_at, timeZone));
      if (seen.has(period)) continue;
      if (seen.size >= count) break;
      seen.add(period);
      keep(snapshot, rule);
    }
  }
  const [newest] = newestFirst;
  if (newest && !kept.has(newest)) keep(newest, "newest");
  return kept;
}

/** `2026-11-27 04:09:51` of an instant; the Swedish format is that of ISO 8601. */
const localTime = (instant: string, timeZone: string): string =>
  new Date(instant).toLocaleString("sv-SE", { timeZone });

function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}
