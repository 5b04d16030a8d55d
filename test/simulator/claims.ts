import { equal, ok } from "node:assert/strict";
import type { Machine } from "./machine.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Did a lock file find the disk full? Then a command works without it. */
export const couldNotLock = ({ faults }: World): boolean =>
  faults.happened.some((fault) => /^(full disk|io error).*: lock/.test(fault));

/**
 * Of two commands, neither takes steps such as `write` while the other one is at them, too. With `begin`, their work
 * begins with such a step: what a lock protects is read under it.
 */
export function requireOneWriter(
  { trace }: World,
  names: readonly [string, string],
  write: RegExp,
  begin = write,
): void {
  const first = (name: string, step: RegExp) =>
    trace.findIndex((line) => line.includes(` ${name}: `) && step.test(line));
  const [a, b] = names.map((name) => ({
    sent: first(name, write) < 0 ? -1 : first(name, begin),
    // A failed one has nothing left to do but to log why.
    end: first(name, /: (?:ended with|mkdir \S*\/failures)/),
  }));
  const isOverlap = a && b && Math.min(a.sent, b.sent) >= 0 && a.sent < b.end && b.sent < a.end;
  ok(!isOverlap, `${names.join(" and ")} do the same work at once`);
}

/** Each entry of a journal begins a line, also behind one that a kill or a full disk cut off. */
export function requireLines({ disk }: Machine, directory: string, name: RegExp): void {
  const names = disk.isDirectory(directory) ? disk.list(directory) : [];
  for (const each of names.filter((one) => name.test(one))) {
    const lines = disk.text(`${directory}/${each}`).split("\n");
    const joined = lines.find((line) => /.\{"(sent|done|failed|row|resolved|key)":/.test(line));
    equal(joined, undefined, `two entries in one line of ${each}`);
  }
}

/**
 * A command that refuses because of a lock names a process that ran at that time. After a power cut, and in
 * another container, it may have ended up to 15 s before.
 */
export function requireHolder({ processes }: World, refused: SimulatedProcess): void {
  const { machine, err } = refused;
  const [, pid, name] = /pid (\d+) on (\S+) since /.exec(err) ?? [];
  if (pid === undefined || name !== machine.name || machine.power.boots > 1) return;
  const holder = processes.find(
    (each) =>
      each !== refused &&
      each.machine === machine &&
      each.pid === Number(pid) &&
      each.endedAt > refused.startedAt,
  );
  ok(holder, `${refused.name} waits for pid ${pid}, which has ended: ${err}`);
}
