import { toCardinal as english } from "n2words/en-US";
import { toCardinal as french } from "n2words/fr-FR";
import { toCardinal as german } from "n2words/de-DE";
import { toCardinal as spanish } from "n2words/es-ES";

/** A pattern that finds words of numbers, and the value of what it finds. */
interface NumberWords {
  readonly pattern: RegExp;
  readonly values: (written: string) => number | undefined;
}

/** How a language says numbers, and words by which it is recognized. */
const languages = [
  { say: english, common: /(?<!\p{L})(?:the|is|of|and|to|you|are|for|in)(?!\p{L})/giu },
  {
    say: german,
    common:
      /(?<!\p{L})(?:der|die|das|und|ist|nicht|ein|eine|für|mit|auf|im|zu|sie|nach)(?!\p{L})/giu,
  },
  {
    say: french,
    common: /(?<!\p{L})(?:le|la|les|des|du|est|et|vous|pour|un|une|dans|au|après)(?!\p{L})/giu,
  },
  {
    say: spanish,
    common: /(?<!\p{L})(?:el|la|los|las|es|y|del|para|una|con|en|se|hay|después)(?!\p{L})/giu,
  },
];

/** In lower case, without the accents of Spanish, hyphens and the article before a hundred. */
const key = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll("é", "e")
    .replaceAll("ó", "o")
    .replaceAll("ß", "ss")
    .replaceAll(/[-\s]+/g, " ")
    .replace(/^(?:a|one|ein) ?(?=hundert?d?$)/, "");

const known = new Map<string, NumberWords>();

/** The words from 2 to 100, with what may follow them. The word for one is skipped, as it is an article, too. */
function wordsOf(say: (number: number) => string, tail: string): NumberWords {
  const said = Array.from({ length: 99 }, (_, index) => say(index + 2));
  const values = new Map(said.map((text, index) => [key(text), index + 2]));
  const words = said
    .toSorted((a, b) => b.length - a.length)
    .map((text) => text.replaceAll(/[-\s]/g, String.raw`[-\s]`).replaceAll("ß", "(?:ß|ss)"))
    .map((text) => text.replaceAll("e", "[eé]").replaceAll("o", "[oó]"))
    .join("|");
  const source = String.raw`(?<![\p{L}\p{N}])(?<words>${words})(?![\p{L}\p{N}])${tail}`;
  return {
    pattern: new RegExp(source, "giu"),
    values: (written) => values.get(key(written)),
  };
}

/** What Chinese and Japanese count with. */
const counters = "万萬億亿千天日月年週周人个個名件元円回時时分秒点點岁歳倍度小";
const SIGNS = "〇一二三四五六七八九";

/** The number of Chinese and Japanese digits: `二十五`. */
function signNumber(signs: string): number | undefined {
  const plain = signs.replaceAll("两", "二").replaceAll("零", "〇");
  const [, hundred, ten, one = ""] = /^(?:(.?)百)?(?:(.?)十)?(.?)$/u.exec(plain) ?? [];
  const times = (text: string | undefined, power: number) =>
    text === undefined ? 0 : power * (text === "" ? 1 : SIGNS.indexOf(text));
  const number = times(hundred, 100) + times(ten, 10) + (one === "" ? 0 : SIGNS.indexOf(one));
  return number > 0 ? number : undefined;
}

/**
 * The words of numbers in English and in the language that is recognized most often in a text, and Chinese and Japanese
 * digits; each with a source of what may follow, such as units.
 */
export function numberWords(text: string, tail: string): readonly NumberWords[] {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const counts = languages.map(({ common }) => count(common));
  const most = counts.indexOf(Math.max(...counts));
  const words = [...new Set([0, most])].map((index) => {
    const found = known.get(`${index}`) ?? wordsOf(languages[index]?.say ?? english, tail);
    known.set(`${index}`, found);
    return found;
  });
  if (!/\p{Script=Han}/u.test(text)) return words;
  const source = `(?<words>[${SIGNS}十百两零]{1,5})(?=[${counters}])${tail}`;
  return [...words, { pattern: new RegExp(source, "giu"), values: signNumber }];
}
