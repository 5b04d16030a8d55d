import { ok } from "node:assert/strict";
import type { World } from "./world.ts";

/** Did a lock file find the disk full? Then a command works without it. */
export const couldNotLock = ({ faults }: World): boolean =>
  faults.happened.some((fault) => /^full disk.*: lock/.test(fault));

/** Of two commands, neither takes steps such as `write` while the other one is at them, too. */
export function requireOneWriter(
  { trace }: World,
  names: readonly [string, string],
  write: RegExp,
): void {
  const [a, b] = names.map((name) => ({
    sent: trace.findIndex((line) => line.includes(` ${name}: `) && write.test(line)),
    end: trace.findIndex((line) => line.includes(` ${name}: ended with`)),
  }));
  const isOverlap = a && b && Math.min(a.sent, b.sent) >= 0 && a.sent < b.end && b.sent < a.end;
  ok(!isOverlap, `${names.join(" and ")} do the same work at once`);
}
