import { keyProblem, prefixOfKey } from "../lib/api-key.ts";
import { attempt } from "../lib/json.ts";

/** The keys and passwords in use. All text that is not the result goes through `masked`. */
export interface Secrets {
  /** Masks this secret from now on, unless it has less than six characters: any text may contain it. */
  learn(secret: string): void;
  /**
   * The text with all secrets replaced by `****`, in any spelling, or cut off after 16 characters.
   * Of the key `dataset-ä/B` these are masked:
   *
   *     dataset-ä/B  DATASET-Ä/b       plain, in any case
   *     dataset-%C3%A4%2FB             percent-encoded
   *     dataset-\u00e4\/B              in JSON, with up to eight backslashes for JSON in JSON
   *     ZGF0YXNldC3DpC9C               in base64 and base64url, at any offset
   */
  masked(text: string): string;
}

/** Environment variables that hold keys: of this CLI, and those that the sandbox passes on. */
const keyVariables = ["KB_KEY", "KB_APP_KEY", "DIFY_API_KEY", "KB_SANDBOX_APP_KEYS"];
const proxyVariables = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** Is it one of these variables, in any case? */
const isOneOf = (names: readonly string[], name: string): boolean =>
  names.includes(name.toUpperCase());

/** The environment of child processes: without keys, unless they are passed on purpose. */
export const withoutKeys = (
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !isOneOf(keyVariables, name)));

/** Replaces a secret. */
const mask = "****";

/** Masks all but the kind and the last four characters of a key: `app-0123456789` → `app-****6789`. */
export const maskKey = (key: string): string =>
  key.length <= 8 || keyProblem(key) !== undefined
    ? mask
    : `${prefixOfKey(key) ?? ""}${mask}${key.slice(-4)}`;

const MIN_SECRET_LENGTH = 6;
/** A prefix of this length gives a secret away if the text was cut off within it. */
const PREFIX_LENGTH = 16;
/** Characters by which spellings are looked for. Keys of one kind share them: `app-`. */
const START_LENGTH = 4;

/** Begins with the secrets of the environment: keys, and the passwords of proxies. */
export function newSecrets(env: Readonly<Record<string, string | undefined>>): Secrets {
  const known = new Set<string>();
  /** Length of the shortest word that can hold a spelling of a secret, or its prefix. */
  let minLength = Infinity;
  /** Built on first use: most command lines print nothing that is masked. */
  let maskText: ((text: string) => string) | undefined;
  const learn = (secret: string) => {
    if (secret.length < MIN_SECRET_LENGTH || known.has(secret)) return;
    known.add(secret);
    // All other spellings are longer.
    minLength = Math.min(minLength, /\s/.test(secret) ? 0 : secret.length, PREFIX_LENGTH);
    maskText = undefined;
  };
  for (const [name, value = ""] of Object.entries(env)) {
    if (isOneOf(keyVariables, name)) learn(value);
    if (!isOneOf(proxyVariables, name)) continue;
    // A user name without a password is a token.
    const password = /^(?:\w+:\/\/)?(?:[^/@:]*:)?(.+)@/.exec(value)?.[1] ?? "";
    learn(password);
    learn(attempt(() => decodeURIComponent(password)) ?? password);
  }
  return {
    learn,
    masked(text) {
      if (known.size === 0 || !text.split(/\s/).some((word) => word.length >= minLength))
        return text;
      maskText ??= maskerOf([...known].flatMap(spellingsOf));
      return maskText(text);
    },
  };
}

/** The characters of a text to search for. */
type Spelling = readonly string[];

/** The text itself, and in base64 at each of three offsets. */
const spellingsOf = (secret: string): Spelling[] => [
  Array.from(secret),
  ...[0, 2, 3].map((shared, offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    // The first and last base64 characters contain bits of the neighbors.
    const text = bytes.toString("base64").slice(shared, Math.floor((bytes.length * 8) / 6));
    return text.split("");
  }),
];

/** The patterns of each character that was looked for: there are many keys, and few characters. */
const knownWays = new Map<string, readonly RegExp[]>();

/** Backslashes before a character, as in JSON in JSON in JSON. */
const escapes = String.raw`\\{0,8}`;
const base64url: Readonly<Record<string, string>> = { "+": "-", "/": "_" };

/** The ways to write a character, as patterns for a position. */
function waysToWrite(character: string): readonly RegExp[] {
  const known = knownWays.get(character);
  if (known) return known;
  const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
  const literal = (text: string) =>
    text.replace(/[^]/g, (unit) => `\\u${hex(unit.charCodeAt(0), 4)}`);
  const bytes = Array.from(Buffer.from(character), (byte) => `%${hex(byte, 2)}`);
  const units = character.split("").map((unit) => `${escapes}u${hex(unit.charCodeAt(0), 4)}`);
  const plain = [character, base64url[character] ?? character].map(
    (each) => escapes + literal(each),
  );
  // One backslash may be written as several.
  const backslashes = Array.from({ length: 8 }, (_, index) => String.raw`\\{${index + 1}}`);
  const ways = [...(character === "\\" ? backslashes : plain), bytes.join(""), units.join("")];
  const patterns = [...new Set(ways)].map((way) => new RegExp(way, "iy"));
  knownWays.set(character, patterns);
  return patterns;
}

/** Where the character can end that begins at this position; empty if another one does. */
const characterEnds = (character: string, text: string, at: number): number[] =>
  waysToWrite(character).flatMap((way) => {
    way.lastIndex = at;
    return way.test(text) ? [way.lastIndex] : [];
  });

/** Where a spelling, or a long enough prefix of it, ends that begins here; 0 if none does. */
function spellingEnd(spelling: Spelling, text: string, start: number): number {
  let ends = [start];
  for (const [index, character] of spelling.entries()) {
    const next = [...new Set(ends.flatMap((at) => characterEnds(character, text, at)))];
    if (next.length === 0) return index < PREFIX_LENGTH ? 0 : Math.max(...ends);
    ends = next;
  }
  return Math.max(...ends);
}

/** Finds where a spelling may begin: a pattern of whole spellings would be too large for many keys. */
function startsOf(spellings: readonly Spelling[]): RegExp {
  const anyOf = (character: string) =>
    `(?:${waysToWrite(character)
      .map(({ source }) => source)
      .join("|")})`;
  const starts = spellings.map((each) => each.slice(0, START_LENGTH).map(anyOf).join(""));
  return new RegExp([...new Set(starts)].join("|"), "gi");
}

function maskerOf(spellings: readonly Spelling[]): (text: string) => string {
  const starts = startsOf(spellings);
  return (text) => {
    let [output, from] = ["", 0];
    starts.lastIndex = 0;
    for (let start = starts.exec(text); start; start = starts.exec(text)) {
      const { index } = start;
      const end = Math.max(...spellings.map((spelling) => spellingEnd(spelling, text, index)));
      starts.lastIndex = end || index + 1;
      if (end === 0) continue;
      output += text.slice(from, index) + mask;
      from = end;
    }
    return output + text.slice(from);
  };
}
