import { isObject, tryParseJson } from "../lib/json.ts";
import { mask, redactSecrets } from "./recordings.ts";

/**
 * Names of fields, headers and parameters that may hold a credential. Wider than for recordings,
 * which are data: what people paste into a report of a fault had better hold too little.
 */
const names =
  "authorization|cookie|signature|sign|sig|credentials?|secret|password|passwd|token|key";
const field = new RegExp(`(?:^|[-_.])(?:${names})$`, "i");
const inJson = new RegExp(
  `("(?:[\\w.-]*[-_.])?(?:${names})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*(?:"|$)`,
  "gi",
);
const inQuery = new RegExp(
  `(^|[?&])((?:[\\w.-]*[-_.])?(?:${names})=)(?!\\*\\*\\*)[^&\\s"'<>#]+`,
  "gi",
);
const inHeader = new RegExp(`^((?:[\\w-]*[-_])?(?:${names})[ \\t]*:[ \\t]*)\\S.*$`, "gim");

/** May a field, header or parameter of that name hold a credential? */
const namesSecret = (name: string): boolean => field.test(name.replace(/([a-z])([A-Z])/g, "$1-$2"));

/** A JSON value with every credential masked, by the name of its field or by its look. */
export function redactValue(value: unknown, name = ""): unknown {
  if (typeof value === "string") {
    return value !== "" && namesSecret(name) ? mask : redactSecrets(value, name, true);
  }
  if (Array.isArray(value)) return value.map((item) => redactValue(item, name));
  if (typeof value === "number" && namesSecret(name)) return mask;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    // What stands inside of `credentials` is one, whatever its name.
    Object.entries(value).map(([inner, each]) => [
      inner,
      redactValue(each, namesSecret(name) ? name : inner),
    ]),
  );
}

/**
 * Any text with every credential masked that shows by its name or its look, JSON on one line. The
 * keys in use are masked by `Secrets`.
 */
export function redactText(text: string): string {
  const value = tryParseJson(text);
  if (typeof value !== "object" || value === null) return maskedWords(text);
  try {
    return JSON.stringify(redactValue(value));
  } catch {
    return maskedWords(text); // nested too deep to be walked through
  }
}

const maskedWords = (text: string) =>
  String(redactSecrets(text, "", true))
    .replace(inJson, `$1"${mask}"`)
    .replace(inHeader, `$1${mask}`)
    .replace(inQuery, `$1$2${mask}`);

/** A text of at most that many characters, with the number of those left out. */
export function truncate(most: number, text: string): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;
}
