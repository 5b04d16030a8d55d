import { own } from "../../../../lib/json.ts";
import { counted, unicodeForm } from "../../../../lib/text.ts";
import { quoted } from "../../../wf/expect/index.ts";
import { figuresIn, LIST_NUMBER } from "./figures.ts";
import type { Figure } from "./figures.ts";

/** What a text states beside its wording. */
type Facts = ReturnType<typeof factsIn>;

/** How many differences are named. */
const MAX_NAMED = 3;

/**
 * The figures and names that an answer lacks, figures that stand beside the name of another, other counts of
 * negations, and words of opposite meaning; undefined if all agree.
 */
export function differingFacts(answer: string, expected: string): string | undefined {
  const [here, there] = [factsIn(answer), factsIn(expected)];
  const words = new Set(
    wordsIn(unicodeForm(answer))
      .flatMap((word) => [word, ...word.split(/['’]/)])
      .map(nameKey),
  );
  const names = there.names.filter((name) => !words.has(nameKey(name)));
  const problems = [
    ...missingFigures("date", here, there),
    ...missingFigures("time", here, there),
    ...missingFigures("number", here, there),
    ...exchanged(here, there),
    ...[...new Set(names)].map((name) => `name ${quoted(name)} is missing`),
    ...(here.negations === there.negations
      ? []
      : [`${counted(here.negations, "negation")} instead of ${there.negations}`]),
    ...oppositesIn(here, there),
  ];
  return problems.length === 0 ? undefined : firstDifferences(problems);
}

/** The first of several differences, and how many there are besides. */
export function firstDifferences<T>(
  all: readonly T[],
  shown: (each: T) => string = String,
): string {
  const more = all.length - MAX_NAMED;
  const rest = more > 0 ? [counted(more, "more difference")] : [];
  return [...all.slice(0, MAX_NAMED).map(shown), ...rest].join(", ");
}

/** Whether a text has all figures and names of a sentence. */
export const hasFacts = (text: Facts, sentence: Facts): boolean =>
  lacking(text.known(), sentence.figures).length === 0 &&
  sentence.names.every((name) => text.words.has(nameKey(name)));

/** Whether two sentences negate as often, contradict each other in no word, and have their capitalized words in one order. */
export function isAgreed(sentence: Facts, source: Facts): boolean {
  const { capitals: here } = sentence;
  const { capitals: there } = source;
  const inBoth = (one: readonly string[], other: readonly string[]) =>
    [...new Set(one)].filter((word) => other.includes(word)).join(" ");
  return (
    sentence.negations === source.negations &&
    oppositesIn(sentence, source).length === 0 &&
    inBoth(here, there) === inBoth(there, here)
  );
}

function missingFigures(kind: Figure["kind"], here: Facts, there: Facts): string[] {
  const [mine, theirs] = [here, there].map(({ figures }) =>
    figures.filter((figure) => figure.kind === kind),
  ) as [Figure[], Figure[]];
  const others = lacking(knownFigures(theirs), mine).slice(0, MAX_NAMED).map(quoted).join(", ");
  const found = others === "" ? "" : ` (found: ${others})`;
  return lacking(knownFigures(mine), theirs).map(
    (text) => `${kind} ${quoted(text)} is missing${found}`,
  );
}

/** Figures by their readings, with the units of each, and amounts. */
type KnownFigures = ReturnType<typeof knownFigures>;

function knownFigures(figures: readonly Figure[]) {
  const units = new Map<string, Set<string | undefined>>();
  for (const { readings, unit } of figures)
    for (const each of readings) units.set(each, (units.get(each) ?? new Set()).add(unit));
  return { units, amounts: new Set(figures.map(({ amount }) => amount)) };
}

/** Figures that are not among the known ones, each once. */
function lacking({ units, amounts }: KnownFigures, figures: readonly Figure[]): string[] {
  // A unit or a year that only one of them has does not differ.
  const isKnown = ({ readings, unit, amount }: Figure) =>
    (amount !== undefined && amounts.has(amount)) ||
    readings.some((each) => {
      const known = units.get(each);
      return known && (unit === undefined || known.has(undefined) || known.has(unit));
    });
  return [...new Set(figures.filter((each) => !isKnown(each)).map(({ text }) => text))];
}

/** Figures whose neighbours are compared. */
const MAX_COMPARED = 40;

/** Words beside a figure: those since the one before it, and those until the next one, of its sentence. */
interface Beside {
  readonly figure: Figure;
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

function besides({ text, figures }: Facts): Beside[] {
  return figures.slice(0, MAX_COMPARED).map((figure, index) => {
    const before = text.slice(figures[index - 1]?.end ?? 0, figure.start);
    const after = text.slice(figure.end, figures[index + 1]?.start ?? text.length);
    const [last = ""] = before.split(SENTENCE_END).slice(-1);
    const [first = ""] = after.split(SENTENCE_END);
    return { figure, before: besideWords(last), after: besideWords(first) };
  });
}

const SENTENCE_END = /[.!?;。！？；]\s|\n/u;
const besideWords = (text: string): ReadonlySet<string> =>
  new Set(
    wordsIn(text)
      .map(nameKey)
      .filter((word) => word.length > 2 && !joints.has(word)),
  );
const joints = new Set(
  "and the for und der die das für les des pour para los las with mit".split(" "),
);

const shared = (one: ReadonlySet<string>, other: ReadonlySet<string>): number =>
  [...one].filter((word) => other.has(word)).length;

/** Two figures of an answer, each of which stands where the other one is expected. */
function exchanged(here: Facts, there: Facts): string[] {
  const [mine, theirs] = [besides(here), besides(there)];
  const isSame = (one: Beside, other: Beside) =>
    lacking(knownFigures([one.figure]), [other.figure]).length === 0;
  const likeness = (one: Beside, other: Beside) =>
    shared(one.before, other.before) + shared(one.after, other.after);
  /** How much the figure, where the answer has it, is like that of the expected place. */
  const at = (figure: Beside, place: Beside) =>
    Math.max(
      -1,
      ...mine.filter((each) => isSame(each, figure)).map((each) => likeness(each, place)),
    );
  for (const [index, one] of theirs.entries())
    for (const other of theirs.slice(index + 1)) {
      if (isSame(one, other) || isSame(other, one)) continue;
      if (
        at(one, other) > at(one, one) &&
        at(other, one) >= at(other, other) &&
        at(other, one) >= 0
      )
        return [`${quoted(one.figure.text)} and ${quoted(other.figure.text)} are exchanged`];
    }
  return [];
}

export function factsIn(original: string) {
  const text = unicodeForm(original);
  const figures = figuresIn(text);
  const rest = withoutFigures(text, figures);
  const isGerman = (rest.match(GERMAN)?.length ?? 0) >= 2;
  // Capitalized words that follow another word; none in German, where any noun is one. Also `A4` and `x86`.
  const named = isGerman ? [] : (rest.match(NAME) ?? []).filter((name) => !/^I\b/.test(name));
  const names = [...named, ...(rest.match(CODE) ?? [])];
  const words = wordsIn(rest).flatMap((word) => fullWords(word.toLowerCase()));
  const capitals: readonly string[] = rest.match(CAPITALIZED) ?? [];
  const negations = countNegations(rest, words);
  let index: KnownFigures | undefined;
  const known = () => (index ??= knownFigures(figures));
  return { text, figures, known, names, capitals, words: new Set(words.map(nameKey)), negations };
}

/** The text with a comma in the place of each figure. */
function withoutFigures(text: string, figures: readonly Figure[]): string {
  const parts = figures.map(({ start }, index) => text.slice(figures[index - 1]?.end ?? 0, start));
  const last = text.slice(figures.at(-1)?.end ?? 0);
  return [...parts, last].join(", ").replaceAll(LIST_NUMBER, "");
}

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+)*/gu;
const wordsIn = (text: string): string[] => text.match(WORD) ?? [];
const CAPITALIZED = /(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{M}]+/gu;
const NAME = /(?<=[\p{L}\p{N},;]\s{1,2})\p{Lu}[\p{L}\p{M}\p{N}]*(?:['’]\p{L}+)*/gu;
const CODE = /(?<![\p{L}\p{N}])(?=\p{L}+\d)[\p{Ll}\p{Lu}\d]{2,40}(?![\p{L}\p{N}])/gu;
const GERMAN =
  /(?<!\p{L})(?:der|das|und|ist|nicht|ein|eine|für|mit|auf|im|zu|sie|wird|sind)(?!\p{L})/giu;

const nameKey = (word: string): string => word.toLowerCase().replace(/['’]s$/, "");

/** Words of opposite meaning. */
const opposites = [
  [
    "before until vor bis avant antes hasta 之前 以前 前に",
    "after nach après después 之后 之後 以后 以後 後に",
  ],
  [
    "must shall required mandatory muss müssen doit doivent devez debe deben 必须 必須 なければ",
    "may can could might optional kann können darf dürfen peut peuvent pouvez puede pueden 可以",
  ],
  [
    "all every each always any alle jede jeder immer tous toutes toujours todos todas siempre 所有 全部 すべて",
    "few some sometimes rarely seldom einige wenige manche quelques parfois algunos algunas pocos pocas 一些 一部",
  ],
  [
    "higher more above increase increases increased rise rises höher mehr plus supérieur más mayor 高于 以上 高い",
    "lower less fewer below decrease decreases decreased fall falls niedriger weniger moins inférieur menos menor 低于 以下 低い",
  ],
  [
    "maximum most höchstens maximal máximo 最多 最大",
    "minimum least mindestens minimal mínimo 最少 最小",
  ],
  [
    "first erste ersten premier première primero primera 最初",
    "last letzte letzten dernier dernière último última 最后 最後",
  ],
].map((sides) => sides.map((words) => words.split(" ")));

/** What must not be done may not be done. */
const REFUSED =
  /(?<!\p{L})(?:(?:must|may|shall|can)(?:\s?not|n['’]t)|(?:darf|dürfen|kann|können)\s(?:\p{L}+\s)?nicht)(?!\p{L})/iu;

/** The words of an answer that say the opposite of an expected one, which the answer lacks. */
function oppositesIn(here: Facts, there: Facts): string[] {
  return opposites.flatMap(([one = [], other = []]) =>
    [
      [one, other],
      [other, one],
    ].flatMap(([said = [], contrary = []]) => {
      const [word] = said.filter((each) => says(there, each));
      const [instead] = contrary.filter((each) => says(here, each));
      const isOpen = (facts: Facts, list: readonly string[]) =>
        list.some((each) => says(facts, each));
      if (!word || !instead || isOpen(there, contrary) || isOpen(here, said)) return [];
      const isDuty = [...said, ...contrary].includes("must");
      if (isDuty && REFUSED.test(here.text) && REFUSED.test(there.text)) return [];
      return [`${quoted(instead)} instead of ${quoted(word)}`];
    }),
  );
}

/** Chinese and Japanese have no blanks between words. */
const says = ({ words, text }: Facts, word: string): boolean =>
  /\p{Lo}/u.test(word) ? text.includes(word) : words.has(word);

const negations = new Set(
  `not no never none nobody nothing neither nor without
  nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder
  pas jamais sans aucun aucune rien nunca jamás sin ningún ninguna ninguno nada nadie tampoco
  non senza nessun nessuno nessuna niente não sem nenhum nenhuma ninguém
  niet geen nooit zonder не нет без никогда`.split(/\s+/),
);

/** Signs and endings that negate in Chinese, Japanese and Korean. */
const NEGATIONS = /ない|ません|なかった|ずに|[不没沒無无未]|않|없|못/gu;
/** Words with such signs that negate nothing, such as `must` in Japanese and `but` in Chinese. */
const AFFIRMATIONS = /(?:なり|いけ)ません|(?:なら|いけ)ない|不[过過仅僅但同断斷]|未来|無料|无论/gu;

function countNegations(text: string, words: readonly string[]): number {
  const signs = text.replaceAll(AFFIRMATIONS, "").match(NEGATIONS) ?? [];
  return words.filter((word) => negations.has(word)).length + signs.length;
}

/** Words that negate another one. */
const negated: Readonly<Record<string, string>> = {
  cannot: "can not",
  impossible: "not possible",
  unable: "not able",
  closed: "not open",
  forbidden: "not allowed",
  prohibited: "not allowed",
  unavailable: "not available",
  unmöglich: "nicht möglich",
  verboten: "nicht erlaubt",
  geschlossen: "nicht offen",
  fermé: "pas ouvert",
  fermée: "pas ouverte",
  interdit: "pas permis",
  cerrado: "no abierto",
  cerrada: "no abierta",
  prohibido: "no permitido",
  imposible: "no posible",
};

/** The words of a short form, or of one that negates another, in lower case: `don't` → `do`, `not`. */
export function fullWords(word: string): string[] {
  const full = own(negated, word);
  if (full !== undefined) return full.split(" ");
  const [, verb] = /^(\p{L}+)n['’]t$/u.exec(word) ?? [];
  if (verb === undefined) return [word];
  return [({ ca: "can", wo: "will", sha: "shall" } as Record<string, string>)[verb] ?? verb, "not"];
}
