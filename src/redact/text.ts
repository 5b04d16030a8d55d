import { isObject, tryParseJson } from "../lib/json.ts";
import { mask, redactSecrets } from "./recordings.ts";

/**
 * Names of fields, headers and parameters that may hold a credential. More than for recordings: a
 * recording is data, but an error report is pasted somewhere and should rather show too little.
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
const isSecretName = (name: string): boolean =>
  field.test(name.replace(/([a-z])([A-Z])/g, "$1-$2"));

/** Masks the credentials in a JSON value, by the name of the field or by their form. */
export function redactValue(value: unknown, name = ""): unknown {
  if (typeof value === "string") {
    return value !== "" && isSecretName(name) ? mask : redactSecrets(value, name, true);
  }
  if (Array.isArray(value)) return value.map((item) => redactValue(item, name));
  if (typeof value === "number" && isSecretName(name)) return mask;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    // Everything within `credentials` is one, whatever its name.
    Object.entries(value).map(([inner, each]) => [
      inner,
      redactValue(each, isSecretName(name) ? name : inner),
    ]),
  );
}

/**
 * Masks all credentials in any text, by name or form; JSON becomes one line. The keys in use are
 * masked by `Secrets`.
 */
export function redactText(text: string): string {
  const value = tryParseJson(text);
  if (typeof value !== "object" || value === null) return redactWords(text);
  try {
    return JSON.stringify(redactValue(value));
  } catch {
    return redactWords(text); // nested too deeply to be walked through
  }
}

const redactWords = (text: string) =>
  String(redactSecrets(text, "", true))
    .replace(inJson, `$1"${mask}"`)
    .replace(inHeader, `$1${mask}`)
    .replace(inQuery, `$1$2${mask}`);

/** Shortens a text and appends its length: `abcdef` → `abc… (6 characters)`. */
export function truncate(maxLength: number, text: string): string {
  return text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength)}… (${text.length} characters)`;
}
