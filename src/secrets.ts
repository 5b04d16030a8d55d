/** The keys and passwords in use. Whatever the program says of itself goes through `masked`. */
export interface Secrets {
  /** From now on it is masked. One of less than six characters is not: any text may hold it. */
  learn(secret: string): void;
  /** The text without them, however they are spelled: plain, percent-encoded, as in JSON, in base64. */
  masked(text: string): string;
}

/** What stands where a secret stood. */
const mask = "****";
const shortest = 6;

/** Those of the environment to begin with: keys, and the passwords of proxies. */
export function secretsOf(env: Readonly<Record<string, string | undefined>>): Secrets {
  const known = new Set<string>();
  /** Characters without a blank that the shortest spelling of any of them has. */
  let least = Infinity;
  let pattern: RegExp | undefined;
  const learn = (secret: string) => {
    if (secret.length < shortest || known.has(secret)) return;
    known.add(secret);
    least = Math.min(least, /\s/.test(secret) ? 0 : secret.length - 1);
    pattern = undefined;
  };
  for (const [name, value = ""] of Object.entries(env)) {
    if (/^(KB_KEY|KB_APP_KEY|DIFY_API_KEY)$/.test(name)) learn(value);
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
      pattern ??= new RegExp([...known].flatMap(spellings).join("|"), "giu");
      return text.replace(pattern, mask);
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

/** Patterns that find a text: character by character, and in base64 at any of three places in a group. */
const spellings = (secret: string): string[] => [
  spelled(secret),
  ...[0, 2, 3].map((shared, before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    // The first and last characters hold bits of the neighbours.
    return spelled(bytes.toString("base64").slice(shared, Math.floor((bytes.length * 8) / 6)));
  }),
];

const spelled = (text: string): string => [...text].map(character).join("");

/** Backslashes of JSON inside JSON inside JSON. */
const escapes = String.raw`\\{0,7}`;

/** One character as itself, percent-encoded, or escaped as in JSON; `+` and `/` also as in URLs. */
function character(sign: string): string {
  if (sign === "\\") return String.raw`(?:%5c|\\{1,8}(?:u005c)?)`;
  const percent = [...Buffer.from(sign)].map((byte) => `%${hex(byte, 2)}`).join("");
  const units = Array.from(sign.split(""), (unit) => `${escapes}u${hex(unit.charCodeAt(0), 4)}`);
  const inUrls = sign === "+" ? "|-" : sign === "/" ? "|_" : "";
  const plain = /\w/.test(sign) ? sign : `${escapes}[${/[\]^]/.test(sign) ? "\\" : ""}${sign}]`;
  return `(?:${plain}|${percent}|${units.join("")}${inUrls})`;
}

const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
