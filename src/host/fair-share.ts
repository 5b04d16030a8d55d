/** ms after which the remainder of a division goes to others. */
export const TURN_MS = 500;

/**
 * The slots that a member may hold: the same number for each, and the remainder in turns by the clock, so
 * that of more members than slots none waits forever. All members compute the same at the same time.
 *
 *     4 slots, members a b c    at 0 s  2 1 1    then 1 2 1, 1 1 2, 2 1 1
 */
export function fairShare(
  self: string,
  members: readonly string[],
  slots: number,
  time: number,
): number {
  const all = [...new Set([...members, self])].sort();
  const turn = Math.floor(time / TURN_MS) % all.length;
  const rank = (all.indexOf(self) - turn + all.length) % all.length;
  const remainder = slots % all.length;
  return Math.floor(slots / all.length) + (rank < remainder ? 1 : 0);
}
