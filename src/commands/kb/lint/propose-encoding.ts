import { ignoring } from "../../../errors.ts";
import { toUtf8 } from "../../../lib/formats/encoding.ts";
import { decodeUtf8, patternOf } from "../../../lib/text.ts";

/**
 * Encodings of East Asia: least characters to judge by, the bytes of a frequent one or a sign, and of one that texts in
 * the others hardly have. Hangul has the places of three quarters of the frequent Chinese characters.
 */
const scripts = [
  ["gbk", 4, /^[\xa1\xa3\xb0-\xd7][\xa1-\xfe]/, /^[\xc9-\xd7]/],
  ["big5", 4, /^[\xa1-\xc6]/, /^.[\x40-\x7e]/],
  ["euc-kr", 12, /^[\xa1\xa3\xb0-\xc8][\xa1-\xfe]/, /^[\xb0-\xc8]/],
  ["euc-jp", 4, /^[\xa1\xa3-\xa5\xb0-\xcf]/, /^[\xa4\xa5]/],
  ["shift_jis", 4, /^[\x81-\x83\x88-\x98]/, /^[\x82\x83]/],
] as const;
const names = [...scripts.map(([name]) => name), "windows-1252", "utf-16le", "utf-16be"];

const western = /^[\0-\x7f\xa0¡£§©ª«®°´·º»¿À-ÏÑ-ÖØ-Üß-ïñ-öø-üÿŒœ–—‘’‚“”„†•…‰€™]+$/;
/** More than two accents in a row, signs inside words, and letters that stand for others of Hungarian. */
const notWestern = patternOf(
  String.raw`[À-ÿ]{3}|\p{L}[^\p{L}\0-\x7f’–—·]+\p{L}|\p{L}[„‚]|[õû]\p{L}*[öü]|[öü]\p{L}*[õû]`,
  "u",
);
/** Controls, private and unassigned characters, which no text has. */
const unlikely = patternOf(String.raw`(?![\t\n\f\r])[\p{Cc}\p{Cn}\p{Co}]`, "u");

/** Does a text that is valid in an encoding look like one? */
function isPlausible(name: string, text: string, bytes: Uint8Array): boolean {
  if (unlikely().test(text)) return false;
  if (name.startsWith("utf-16")) return /[ \n]/.test(text); // not with the bytes in the other order
  const script = scripts.find(([each]) => each === name);
  if (!script) return western.test(text) && !notWestern().test(text);
  const [, least, frequent, telling] = script;
  const pairs =
    Buffer.from(bytes)
      .toString("latin1")
      .match(/[\x81-\xfe]./gs) ?? [];
  const share = (some: RegExp) => pairs.filter((each) => some.test(each)).length / pairs.length;
  return pairs.length >= least && share(frequent) >= 0.9 && share(telling) >= 0.1;
}

/** The encoding of a text that is not UTF-8; undefined unless it is plausible in exactly one of a few. */
export async function proposedEncoding(bytes: Uint8Array): Promise<string | undefined> {
  const found: string[] = [];
  for (const name of names) {
    const text = await toUtf8(bytes, name).then(decodeUtf8).catch(ignoring("usage"));
    if (text !== undefined && isPlausible(name, text, bytes)) found.push(name);
  }
  return found.length === 1 ? found[0] : undefined;
}
