/** The keys and passwords in use. Whatever the program says of itself goes through `masked`. */
export interface Secrets {
  /** From now on it is masked. One of less than six characters is not: any text may hold it. */
  learn(secret: string): void;
  /** The text without them, or their first 16 signs, however they are spelled: plain, percent-encoded, as in JSON, in base64. */
  masked(text: string): string;
}

/** Variables that hold keys: ours, and those that the sandbox lends to its command. */
const keyVariables = /^(KB_KEY|KB_APP_KEY|DIFY_API_KEY|KB_SANDBOX_APP_KEYS)$/i;

/** The environment of programs that we start: none of them gets a key that is not meant for it. */
export const withoutKeys = (
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !keyVariables.test(name)));

/** What stands where a secret stood. */
const mask = "****";
const shortest = 6;

/** Those of the environment to begin with: keys, and the passwords of proxies. */
export function newSecrets(env: Readonly<Record<string, string | undefined>>): Secrets {
  const known = new Set<string>();
  /** Characters without a blank that the shortest spelling of any of them, or its telling part, has. */
  let least = Infinity;
  let wanted: readonly Spelling[] | undefined;
  const learn = (secret: string) => {
    if (secret.length < shortest || known.has(secret)) return;
    known.add(secret);
    least = Math.min(least, /\s/.test(secret) ? 0 : secret.length - 1, telling);
    wanted = undefined;
  };
  for (const [name, value = ""] of Object.entries(env)) {
    if (keyVariables.test(name)) learn(value);
    if (!/^(https?|all)_proxy$/i.test(name)) continue;
    // A name without a password is a token.
    const password = /^(?:\w+:\/\/)?(?:[^/@:]*:)?(.+)@/.exec(value)?.[1] ?? "";
    learn(password);
    learn(decoded(password));
  }
  return {
    learn,
    masked(text) {
      if (known.size === 0 || !text.split(/\s/).some((word) => word.length >= least)) return text;
      // Made when something is said: most command lines say nothing.
      wanted ??= [...known].flatMap(spellings);
      return without(wanted, text);
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A text to look for, sign by sign, each as lower-case letters in which it may be spelled. */
type Spelling = readonly Sign[];

interface Sign {
  readonly plain: readonly string[];
  /** `%c3%a4` */
  readonly percent: string;
  /** `u00e4`, one of each half where there are two. */
  readonly units: readonly string[];
  readonly isBackslash: boolean;
}

/** The text itself, and in base64 at any of three places in a group. */
const spellings = (secret: string): Spelling[] => [
  spelled(secret),
  ...[0, 2, 3].map((shared, before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    // The first and last characters hold bits of the neighbours.
    return spelled(bytes.toString("base64").slice(shared, Math.floor((bytes.length * 8) / 6)));
  }),
];

function spelled(text: string): Spelling {
  const known = new Map(Array.from(new Set(text), (sign) => [sign, signOf(sign)]));
  return Array.from(text, (sign) => known.get(sign) ?? signOf(sign));
}

const inUrls: Readonly<Record<string, readonly string[]>> = { "+": ["-"], "/": ["_"] };

function signOf(sign: string): Sign {
  const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
  return {
    plain: [sign.toLowerCase(), ...(inUrls[sign] ?? [])],
    percent: Array.from(Buffer.from(sign), (byte) => `%${hex(byte, 2)}`).join(""),
    units: Array.from(sign.split(""), (unit) => `u${hex(unit.charCodeAt(0), 4)}`),
    isBackslash: sign === "\\",
  };
}

/** Backslashes of JSON inside JSON inside JSON. */
const mostEscapes = 8;

/** Places right behind the sign that stands at a place of a text in lower case; none for another one. */
function endsOf(sign: Sign, text: string, at: number): number[] {
  const ends = text.startsWith(sign.percent, at) ? [at + sign.percent.length] : [];
  const behind = behindEscapes(text, at);
  if (sign.isBackslash) {
    for (let end = at + 1; end <= behind; end++) ends.push(end);
    if (behind > at && text.startsWith("u005c", behind)) ends.push(behind + 5);
    return ends;
  }
  for (const plain of sign.plain)
    if (text.startsWith(plain, behind)) ends.push(behind + plain.length);
  let end = at;
  for (const unit of sign.units) {
    end = behindEscapes(text, end);
    if (!text.startsWith(unit, end)) return ends;
    end += unit.length;
  }
  return [...ends, end];
}

function behindEscapes(text: string, at: number): number {
  let end = at;
  while (text[end] === "\\" && end - at < mostEscapes) end++;
  return end;
}

/** So many signs give a secret away where a text was cut off within it. */
const telling = 16;

/** Where the spelling, or its first signs, ends that begins at a place of a text in lower case. */
function endOf(spelling: Spelling, text: string, start: number): number | undefined {
  let ends = [start];
  for (const [index, sign] of spelling.entries()) {
    const [only] = ends;
    const next =
      ends.length === 1 && only !== undefined
        ? endsOf(sign, text, only)
        : [...new Set(ends.flatMap((at) => endsOf(sign, text, at)))];
    if (next.length === 0) return index < telling ? undefined : Math.max(...ends);
    ends = next;
  }
  return Math.max(...ends);
}

/** In lower case, sign for sign: a few signs would become two. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return text.replace(/[^]/g, (unit) => unit.toLowerCase().charAt(0));
}

/** A text without what is looked for: a search sign by sign, which no length or form of a key stops. */
function without(spellings: readonly Spelling[], text: string): string {
  const lower = lowered(text);
  const first = new Set(["\\", "%", "u", ...spellings.flatMap(([sign]) => sign?.plain ?? [])]);
  let [kept, from] = ["", 0];
  for (let at = 0; at < text.length; at++) {
    if (!first.has(lower.charAt(at))) continue;
    const ends = spellings.map((spelling) => endOf(spelling, lower, at) ?? 0);
    const end = Math.max(...ends);
    if (end <= at) continue;
    kept += text.slice(from, at) + mask;
    from = end;
    at = end - 1;
  }
  return kept + text.slice(from);
}
