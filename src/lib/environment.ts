/** Whether an environment variable is set to something other than empty, 0 or false. */
export const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== "" && value !== "0" && value !== "false";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Whether signs, charts and rules may be other than ASCII: not if the locale has another character set
 * than UTF-8, on a Linux console, whose font lacks them, and for plain output. Names and texts are
 * displayed as they are.
 */
export function wantsUnicode(env: Env): boolean {
  if (isOn(env["KB_ACCESSIBLE"]) || env["TERM"] === "dumb" || env["TERM"] === "linux") return false;
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"];
  return !locale || /utf-?8/i.test(locale);
}

/** `✓ ` and `✗ ` before a result; empty if they may not be displayed. */
export const signsFor = (env: Env): { readonly pass: string; readonly fail: string } =>
  wantsUnicode(env) ? { pass: "✓ ", fail: "✗ " } : { pass: "", fail: "" };
