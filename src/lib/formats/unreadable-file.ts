/** Why the text of a file cannot be read, as the end of a sentence. */
export class UnreadableFile extends Error {}

/** Adds up amounts; throws UnreadableFile with the reason as soon as they exceed `max`. */
export function budget(max: number, reason: string): (amount: number) => void {
  let left = max;
  return (amount) => {
    left -= amount;
    if (left < 0) throw new UnreadableFile(reason);
  };
}
