import { Worker } from "node:worker_threads";

/** A reproducible pseudorandom number generator. */
export interface Random {
  /** Returns an integer from 0 to `limit - 1`. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
  /** Returns true with this probability. */
  chance(probability: number): boolean;
}

/** mulberry32: 32 bits of state. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    pick: (list) => list[below(list.length)] as never, // lists here are never empty
    chance: (probability) => next() < probability,
  };
}

/** Strings that parsers often mishandle. */
const odd: readonly string[] = [
  "\0",
  "\ufeff",
  "\ud800",
  "\udc00",
  "\u202e",
  "\u2066",
  "\u009b31m",
  "\u001b]0;title\u0007",
  "\u001b[2J",
  "\u007f",
  "\u0085",
  "\u2028",
  "\r",
  "\n",
  "\r\n",
  "\t",
  "\\",
  '"',
  "'",
  "漢字",
  "e\u0301\u0301\u0301",
  "👩‍🔬",
  "-0",
  "1e999",
  "9".repeat(30),
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
];

/** Long strings, used rarely. */
const long: readonly string[] = [
  "a".repeat(5000),
  " ".repeat(5000),
  "9".repeat(400),
  "[".repeat(3000),
  '{"a":'.repeat(3000),
  "**/".repeat(40),
  "\n".repeat(3000),
];

/** Invalid UTF-8: stray, truncated and overlong bytes, surrogates, code points out of range. */
const oddBytes: readonly (readonly number[])[] = [
  [0xff],
  [0xc3],
  [0x80],
  [0xe2, 0x82],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xef, 0xbb, 0xbf],
  [0],
];

/** Pieces of a grammar in random order, damaged or not, or noise. */
export function textFrom(random: Random, pieces: readonly string[]): string {
  const how = random.below(10);
  if (how === 0) return noise(random);
  const joined = (max: number) => {
    let text = "";
    for (let left = 1 + random.below(max); left > 0; left--) text += random.pick(pieces);
    return text;
  };
  let text = joined(12);
  if (how < 5) return text;
  for (let left = 1 + random.below(4); left > 0; left--) text = damaged(text, random, joined);
  return text;
}

function noise(random: Random): string {
  let text = "";
  for (let left = random.below(40); left > 0; left--) {
    text += random.chance(0.2)
      ? random.pick(odd)
      : String.fromCharCode(random.below(random.chance(0.8) ? 0x100 : 0x10000));
  }
  return text;
}

function damaged(text: string, random: Random, another: (max: number) => string): string {
  const from = random.below(text.length + 1);
  const to = Math.min(text.length, from + random.below(20));
  const [before, part, after] = [text.slice(0, from), text.slice(from, to), text.slice(to)];
  switch (random.below(6)) {
    case 0:
      return before + after;
    case 1:
      return before + part.repeat(1 + random.below(40)) + after;
    case 2:
      return before + another(3) + after;
    case 3:
      return before + random.pick(random.chance(0.05) ? long : odd) + part + after;
    case 4:
      return before + String.fromCharCode(text.charCodeAt(from) ^ (1 << random.below(8))) + after;
    default:
      return part + before + after;
  }
}

/** The same as bytes, sometimes with invalid UTF-8. */
export function bytesFrom(random: Random, pieces: readonly string[]): Uint8Array {
  let bytes = Buffer.from(textFrom(random, pieces));
  while (random.chance(0.15)) {
    const at = random.below(bytes.length + 1);
    const put = random.chance(0.5) ? random.pick(oddBytes) : [];
    bytes = Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from(put),
      bytes.subarray(at + random.below(3)),
    ]);
  }
  return bytes;
}

type Input = string | Uint8Array;

/** A parser or printer under test. */
export interface Target<I extends Input> {
  readonly name: string;
  readonly make: (random: Random) => I;
  /** Processes an input; throws if a property is violated. */
  readonly holds: (input: I) => unknown;
}

/** The limit for one input, in ms of processor time: what else runs on the machine does not count. */
const timeLimit = 1000;
/** The time limit for finding a shorter failing input, in ms. */
const longestSearch = 10_000;

/** The ms of processor time that this process has used since `began`. */
function processorTime(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

/**
 * Processes inputs, each made from the seed and its number, and resolves to the ms of processor time
 * that the slowest took. Throws with the shortest failing input found; an input fails, too, if it takes
 * a second twice. Kills the process, naming the input, if one takes more than 20 seconds.
 */
export async function fuzz<I extends Input>(
  target: Target<I>,
  seed: number,
  count: number,
): Promise<number> {
  /** The number of the input, and a counter of attempts, including those of shrinking. */
  const at = new Int32Array(new SharedArrayBuffer(8));
  const watch = new Worker(watcher, { eval: true, workerData: { at, name: target.name, seed } });
  let slowest = 0;
  try {
    for (let number = 0; number < count; number++) {
      at[0] = number;
      const input = target.make(randomOf(Math.imul(seed, 0x9e3779b1) + number));
      const problemOf = (one: I) => {
        at[1]!++;
        return problemWith(target, one);
      };
      const began = process.cpuUsage();
      const problem = await problemOf(input);
      slowest = Math.max(slowest, processorTime(began));
      if (problem === undefined) continue;
      const shortest = await shrunk(input, problemOf);
      const shown =
        typeof shortest === "string" ? shortest : Buffer.from(shortest).toString("latin1");
      throw new Error(
        `${target.name}, seed ${seed}, input ${number}: ${String(await problemOf(shortest))}\n` +
          `${JSON.stringify(shown.slice(0, 2000))} (${shown.length} long)`,
        { cause: problem },
      );
    }
    return slowest;
  } finally {
    await watch.terminate();
  }
}

/** Runs in a worker because the target may never return. */
const watcher = `
  const { workerData: { at, name, seed } } = require("node:worker_threads");
  let [last, since] = [-1, 0];
  setInterval(() => {
    since = at[1] === last ? since + 1 : 0;
    last = at[1];
    if (since < 20) return;
    const text = name + ", seed " + seed + ", input " + at[0] + ": does not end\\n";
    require("node:fs").writeSync(2, text);
    process.kill(process.pid, "SIGKILL");
  }, 1000);
`;

async function problemWith<I extends Input>(target: Target<I>, input: I): Promise<unknown> {
  let took = Infinity;
  // A slow input is tested twice: memory may have been collected, or code compiled.
  for (let attempt = 0; attempt < 2 && took > timeLimit; attempt++) {
    const began = process.cpuUsage();
    try {
      await target.holds(input);
    } catch (error) {
      return error ?? "nothing was thrown";
    }
    took = processorTime(began);
  }
  return took > timeLimit ? new Error(`it took ${Math.round(took)} ms`) : undefined;
}

/** Shrinks a failing input by removing halves, quarters, … as long as it still fails. */
async function shrunk<I extends Input>(
  input: I,
  problemOf: (input: I) => Promise<unknown>,
): Promise<I> {
  let shortest = input;
  const start = performance.now();
  for (let size = shortest.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < shortest.length;) {
      const shorter = without(shortest, at, at + size);
      if (performance.now() - start > longestSearch) return shortest;
      if ((await problemOf(shorter)) === undefined) at += size;
      else shortest = shorter;
    }
  }
  return shortest;
}

function without<I extends Input>(input: I, from: number, to: number): I {
  const rest =
    typeof input === "string"
      ? input.slice(0, from) + input.slice(to)
      : Buffer.concat([input.subarray(0, from), input.subarray(to)]);
  return rest as I; // the kind of the input
}
