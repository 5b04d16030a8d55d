/** Words of numbers from 2 to 100. The word for one is left out: it is an article, too. */

/** A pattern that finds such words, and the value of what it finds. */
interface NumberWords {
  readonly pattern: RegExp;
  readonly values: (written: string) => number | undefined;
}

const upTo = (count: number, words: string) => words.split(" ").slice(0, count);

const english = upTo(
  20,
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
);
const german = upTo(
  20,
  "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
);
const french = upTo(
  17,
  "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
);
const spanish = upTo(
  16,
  "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince",
);
const tens = {
  en: "twenty thirty forty fifty sixty seventy eighty ninety".split(" "),
  de: "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split(" "),
  fr: "vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt".split(" "),
  es: "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa".split(" "),
};

/** How each language says a number below 100. */
const sayings: Readonly<Record<keyof typeof tens, (number: number) => string>> = {
  en(number) {
    const [ten, one] = [tens.en[Math.floor(number / 10) - 2], english[number % 10]];
    return english[number] ?? (number % 10 === 0 ? `${ten}` : `${ten}-${one}`);
  },
  de(number) {
    const [ten, one] = [tens.de[Math.floor(number / 10) - 2], german[number % 10]];
    return german[number] ?? (number % 10 === 0 ? `${ten}` : `${one}und${ten}`);
  },
  fr(number) {
    if (number < 17) return `${french[number]}`;
    if (number < 20) return `dix-${french[number - 10]}`;
    const ten = Math.floor(number / 10);
    const isScore = ten === 7 || ten === 9; // soixante-dix, quatre-vingt-dix
    const rest = (number % 10) + (isScore ? 10 : 0);
    if (rest === 0) return `${tens.fr[ten - 2]}${number === 80 ? "s" : ""}`;
    const joint = number % 10 === 1 && number < 80 ? " et " : "-";
    return `${tens.fr[ten - 2]}${joint}${rest < 17 ? french[rest] : `dix-${french[rest - 10]}`}`;
  },
  es(number) {
    if (number < 16) return `${spanish[number]}`;
    if (number < 20) return `dieci${spanish[number - 10]}`;
    const [ten, one] = [tens.es[Math.floor(number / 10) - 2], spanish[number % 10]];
    if (number % 10 === 0) return `${ten}`;
    return number < 30 ? `veinti${one}` : `${ten} y ${one}`;
  },
};

const hundreds = {
  en: "one hundred|a hundred",
  de: "einhundert|hundert",
  fr: "cent",
  es: "cien|ciento",
};

/** Words by which a language is recognized. */
const common = {
  de: /(?<!\p{L})(?:der|das|und|ist|nicht|ein|eine|für|mit|auf|im|zu|sie|wird|sind|es|nach)(?!\p{L})/giu,
  fr: /(?<!\p{L})(?:le|les|des|du|est|et|vous|pour|un|une|dans|sont|au|il|après)(?!\p{L})/giu,
  es: /(?<!\p{L})(?:el|los|las|es|y|del|para|una|con|en|son|se|hay|después)(?!\p{L})/giu,
};

const known = new Map<string, NumberWords>();

/** The words of a language with what may follow them; also without hyphens, accents and the ß. */
function wordsOf(language: keyof typeof tens, tail: string): NumberWords {
  const values = new Map<string, number>();
  const key = (text: string) =>
    text
      .toLowerCase()
      .normalize("NFD")
      .replaceAll(/\p{M}/gu, "")
      .replaceAll("ß", "ss")
      .replaceAll(/[-\s]+/g, " ");
  for (let number = 2; number < 100; number++) values.set(key(sayings[language](number)), number);
  for (const hundred of hundreds[language].split("|")) values.set(key(hundred), 100);
  const texts = Array.from({ length: 98 }, (_, index) => sayings[language](index + 2));
  const alternatives = [...hundreds[language].split("|"), ...texts]
    .toSorted((a, b) => b.length - a.length)
    .map((text) => text.replaceAll(/[- ]/g, String.raw`[-\s]`));
  const pattern = new RegExp(
    String.raw`(?<![\p{L}\p{N}])(?<words>${alternatives.join("|")})(?![\p{L}\p{N}])${tail}`,
    "giu",
  );
  return { pattern, values: (written) => values.get(key(written)) };
}

const SIGNS = "〇一二三四五六七八九";

/** The number of Chinese and Japanese digits: `二十五`. */
function signNumber(signs: string): number | undefined {
  const plain = signs.replaceAll("两", "二").replaceAll("零", "〇");
  const at = (text: string, otherwise: number) => (text === "" ? otherwise : SIGNS.indexOf(text));
  const [, hundred, ten, one = ""] = /^(?:(.?)百)?(?:(.?)十)?(.?)$/u.exec(plain) ?? [];
  const number =
    (hundred === undefined ? 0 : 100 * at(hundred, 1)) +
    (ten === undefined ? 0 : 10 * at(ten, 1)) +
    at(one, 0);
  return number > 0 ? number : undefined;
}

const counters = "天日月年週周人个個名件元円回時时分秒点點岁歳倍度小";
const signWords = (tail: string): NumberWords => ({
  pattern: new RegExp(`(?<words>[${SIGNS}十百两零]{1,5})(?=[${counters}])${tail}`, "giu"),
  values: signNumber,
});

/**
 * The words of numbers in the languages of a text (English, and another that its words show), each with a source of
 * what may follow, such as units.
 */
export function numberWords(text: string, tail: string): readonly NumberWords[] {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const found = (Object.keys(common) as (keyof typeof common)[]).filter(
    (language) => count(common[language]) > 0,
  );
  const [first] = found.toSorted((a, b) => count(common[b]) - count(common[a]));
  const languages = first === undefined ? (["en"] as const) : (["en", first] as const);
  const words = languages.map((language) => {
    const own = known.get(language) ?? wordsOf(language, tail);
    known.set(language, own);
    return own;
  });
  return /[一-鿿]/u.test(text) ? [...words, signWords(tail)] : words;
}
