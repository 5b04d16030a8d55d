import { stringifyJson } from "./json.ts";
/**
 * The text of a form for people: without the places of its inputs, `{{#$output.<name>#}}` (server
 * §14), which are asked for separately.
 */
export const formText = (content: string): string =>
  content
    .split(/\r?\n/)
    .filter((line) => !/^\s*(\{\{#\$output\.[^#]*#\}\}\s*)+$/.test(line))
    .map((line) => line.replace(/\{\{#\$output\.[^#]*#\}\}/g, "").trimEnd())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();

/** An input of a form: `comment (paragraph, default "looks fine")`. */
export function inputText(name: string, type: string, preset: unknown): string {
  const isEmpty = preset === undefined || preset === null || preset === "";
  return `${name} (${type}${isEmpty ? "" : `, default ${stringifyJson(preset)}`})`;
}

/**
 * When a form expires: `expires in 60 minutes (21:48 UTC)`. `format` writes a date as `2026-11-22 21:48 UTC`;
 * the day is omitted if it is today. Empty for an invalid date.
 */
export function expiryText(expires: Date, now: Date, format: (date: Date) => string): string {
  const minutes = Math.round((expires.getTime() - now.getTime()) / 60_000);
  if (Number.isNaN(minutes)) return "";
  const time = format(expires);
  const today = /^\d{4}-\d\d-\d\d /.exec(format(now))?.[0] ?? "";
  const shown = time.startsWith(today) ? time.slice(today.length) : time;
  return minutes <= 0 ? `expired (${shown})` : `expires in ${roughly(minutes)} (${shown})`;
}

function roughly(minutes: number): string {
  if (minutes >= 2880) return `${Math.floor(minutes / 1440)} days`;
  if (minutes >= 120) return `${Math.floor(minutes / 60)} hours`;
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
