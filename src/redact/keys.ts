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
const keyVariables = /^(KB_KEY|KB_APP_KEY|DIFY_API_KEY|KB_SANDBOX_APP_KEYS)$/i;

/** The environment of child processes: without keys, unless they are passed on purpose. */
export const withoutKeys = (
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !keyVariables.test(name)));

/** Replaces a secret. */
const mask = "****";
const MIN_SECRET_LENGTH = 6;
/** A prefix of this length gives a secret away if the text was cut off within it. */
const PREFIX_LENGTH = 16;

/** Begins with the secrets of the environment: keys, and the passwords of proxies. */
export function newSecrets(env: Readonly<Record<string, string | undefined>>): Secrets {
  const known = new Set<string>();
  /** Length of the shortest word that can hold a spelling of a secret, or its prefix. */
  let minLength = Infinity;
  /** Built on first use: most command lines print nothing that is masked. */
  let spellings: readonly Spelling[] | undefined;
  const learn = (secret: string) => {
    if (secret.length < MIN_SECRET_LENGTH || known.has(secret)) return;
    known.add(secret);
    // All other spellings are longer.
    minLength = Math.min(minLength, /\s/.test(secret) ? 0 : secret.length, PREFIX_LENGTH);
    spellings = undefined;
  };
  for (const [name, value = ""] of Object.entries(env)) {
    if (keyVariables.test(name)) learn(value);
    if (!/^(https?|all)_proxy$/i.test(name)) continue;
    // A user name without a password is a token.
    const password = /^(?:\w+:\/\/)?(?:[^/@:]*:)?(.+)@/.exec(value)?.[1] ?? "";
    learn(password);
    learn(percentDecoded(password));
  }
  return {
    learn,
    masked(text) {
      if (known.size === 0 || !text.split(/\s/).some((word) => word.length >= minLength))
        return text;
      spellings ??= [...known].flatMap(spellingsOf);
      return maskSpellings(spellings, text);
    },
  };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Text to search for, character by character. */
type Spelling = readonly Character[];

/** The ways to write a character, in lower case. */
interface Character {
  readonly plain: readonly string[];
  /** `%c3%a4` */
  readonly percent: string;
  /** `u00e4`, one for each UTF-16 unit. */
  readonly units: readonly string[];
  readonly isBackslash: boolean;
}

/** The text itself, and in base64 at each of three offsets. */
const spellingsOf = (secret: string): Spelling[] => [
  spell(secret),
  ...[0, 2, 3].map((shared, offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    // The first and last base64 characters contain bits of the neighbors.
    return spell(bytes.toString("base64").slice(shared, Math.floor((bytes.length * 8) / 6)));
  }),
];

function spell(text: string): Spelling {
  const known = new Map(Array.from(new Set(text), (each) => [each, characterOf(each)]));
  return Array.from(text, (each) => known.get(each) ?? characterOf(each));
}

const base64url: Readonly<Record<string, readonly string[]>> = { "+": ["-"], "/": ["_"] };

function characterOf(text: string): Character {
  const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
  return {
    plain: [text.toLowerCase(), ...(base64url[text] ?? [])],
    percent: Array.from(Buffer.from(text), (byte) => `%${hex(byte, 2)}`).join(""),
    units: Array.from(text.split(""), (unit) => `u${hex(unit.charCodeAt(0), 4)}`),
    isBackslash: text === "\\",
  };
}

/** Backslashes before a character, as in JSON in JSON in JSON. */
const MAX_ESCAPES = 8;

/** Where a character can end that begins at this position of a lower-case text; empty for another. */
function characterEnds(character: Character, text: string, at: number): number[] {
  const ends = text.startsWith(character.percent, at) ? [at + character.percent.length] : [];
  const escaped = skipEscapes(text, at);
  if (character.isBackslash) {
    for (let end = at + 1; end <= escaped; end++) ends.push(end);
    if (escaped > at && text.startsWith("u005c", escaped)) ends.push(escaped + 5);
    return ends;
  }
  for (const plain of character.plain)
    if (text.startsWith(plain, escaped)) ends.push(escaped + plain.length);
  let end = at;
  for (const unit of character.units) {
    end = skipEscapes(text, end);
    if (!text.startsWith(unit, end)) return ends;
    end += unit.length;
  }
  return [...ends, end];
}

function skipEscapes(text: string, at: number): number {
  let end = at;
  while (text[end] === "\\" && end - at < MAX_ESCAPES) end++;
  return end;
}

/** Where a spelling, or a long enough prefix of it, ends that begins here in a lower-case text. */
function spellingEnd(spelling: Spelling, text: string, start: number): number | undefined {
  let ends = [start];
  for (const [index, character] of spelling.entries()) {
    const [only] = ends;
    const next =
      ends.length === 1 && only !== undefined
        ? characterEnds(character, text, only)
        : [...new Set(ends.flatMap((at) => characterEnds(character, text, at)))];
    if (next.length === 0) return index < PREFIX_LENGTH ? undefined : Math.max(...ends);
    ends = next;
  }
  return Math.max(...ends);
}

/** Lower case with the same length: a few characters would become two. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return text.replace(/[^]/g, (unit) => unit.toLowerCase().charAt(0));
}

/** Searches character by character: a regex of all spellings would be too large for long keys. */
function maskSpellings(spellings: readonly Spelling[], text: string): string {
  const lower = lowerCase(text);
  const first = new Set(["\\", "%", "u", ...spellings.flatMap(([each]) => each?.plain ?? [])]);
  let [output, from] = ["", 0];
  for (let at = 0; at < text.length; at++) {
    if (!first.has(lower.charAt(at))) continue;
    const ends = spellings.map((spelling) => spellingEnd(spelling, lower, at) ?? 0);
    const end = Math.max(...ends);
    if (end <= at) continue;
    output += text.slice(from, at) + mask;
    from = end;
    at = end - 1;
  }
  return output + text.slice(from);
}
