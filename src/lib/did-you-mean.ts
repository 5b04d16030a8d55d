import { basename, dirname } from "node:path";
import { distance } from "fastest-levenshtein";

/**
 * The word that was probably meant, whatever its case: one that `typed` starts or continues by three
 * letters or more, or one that is a single typing error away. Undefined if none is: a wrong guess
 * misleads. So the first letter must be right: `top` is not a mistake for `stop`.
 */
export function didYouMean(typed: string, words: readonly string[]): string | undefined {
  const text = bare(typed);
  if (text.length < 3) return undefined;
  const known = new Map(words.map((word) => [bare(word), word]));
  const names = [...known.keys()];
  const alike = names.filter((name) => name[0] === text[0]);
  const swaps = swapsOf(text);
  const near =
    names.find((name) => name === text) ??
    names.find((name) => name.startsWith(text)) ??
    names.find((name) => swaps.includes(name)) ??
    alike.find((name) => distance(text, name) === 1) ??
    names.find((name) => name.length > 2 && text.startsWith(name));
  return near === undefined ? undefined : known.get(near);
}

/** A word without the dashes of a flag, in lower case. */
const bare = (word: string): string => word.replace(/^--/, "").toLowerCase();

/** The text with each pair of neighbors swapped: `tga` is close to `tag`. */
const swapsOf = (text: string): readonly string[] =>
  Array.from({ length: text.length - 1 }, (_, at) =>
    [text.slice(0, at), text[at + 1], text[at], text.slice(at + 2)].join(""),
  );

/** The hint for a path that does not exist: the entry beside it that was probably meant. */
export async function missingPathHint(
  path: string,
  files: { list(path: string): Promise<readonly string[]> },
): Promise<string> {
  if (/^https?:\/\//.test(path)) return "addresses are not fetched: download the file first";
  if (/^\d{4}-\d\d(-\d\d)?$|^(yesterday|today)$/.test(path)) return `a time is --since ${path}`;
  const names = await files.list(dirname(path)).catch(() => undefined);
  const near = names && didYouMean(basename(path), names);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  return names
    ? "paths are relative to the current directory"
    : `there is no directory ${JSON.stringify(dirname(path))}`;
}
