import { isOn } from "./env-flag.ts";

/** `✓ ` and `✗ ` before a result; empty where a terminal or a screen reader may not have them. */
export function signsFor(env: Readonly<Record<string, string | undefined>>): {
  readonly pass: string;
  readonly fail: string;
} {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  const isPlain =
    isOn(env["KB_ACCESSIBLE"]) || env["TERM"] === "dumb" || /^(C|POSIX)$/.test(locale);
  return isPlain ? { pass: "", fail: "" } : { pass: "✓ ", fail: "✗ " };
}
