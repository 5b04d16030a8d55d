const MAX_QUOTED = 200;

/** Server text in quotes on one line, truncated if long. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  const start = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return start.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (match) => `\\u${match.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A reason after a colon, or nothing. */
export const because = (error: string | undefined): string =>
  error === undefined ? "" : `: ${quoted(error)}`;

/** `0.046 s`. */
export const inSeconds = (seconds: number): string => `${Number(seconds.toFixed(3))} s`;
