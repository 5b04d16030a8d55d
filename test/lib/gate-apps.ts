/** Applications by rules and suites for `wf test run --baseline`, as the texts of files (YAML takes JSON). */

/** How often each test passes, 0 to 1, by its name, which is its question, too. */
type PassRates = Readonly<Record<string, number>>;

/** Tests `t1`, `t2` and so on that always pass, except those with another rate. */
export const gateRates = (count: number, others: PassRates = {}): PassRates => ({
  ...Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index + 1}`, 1])),
  ...others,
});

/** Right answers as long as those of a model. */
const rightAnswers = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `That is right in version ${index + 1}: thirty days of leave in each year.`,
  );
const WRONG_ANSWER = "There is nothing about leave in this handbook.";

/**
 * The file of an application whose answers pass the tests of `gateSuite` as often as the rates say, with so many different
 * right answers, of which each is drawn as often.
 */
export const gateApp = (rates: PassRates, { cache = false, answers = 1 } = {}): string =>
  JSON.stringify({
    rules: Object.entries(rates).map(([question, rate]) => ({
      question,
      cache,
      answers: [
        ...rightAnswers(answers).map((answer) => ({ answer, weight: rate / answers })),
        { answer: WRONG_ANSWER, weight: 1 - rate },
      ].filter(({ weight }) => weight > 0),
    })),
  });

/** The file of an application that answers the same to everything. */
export const fixedApp = (answer: string): string =>
  JSON.stringify({ rules: [{ question: "/^/", answer }] });

/** The file of the suite `S` with the tests of these rates. */
export const gateSuite = (rates: PassRates): string =>
  JSON.stringify({
    name: "S",
    defaults: { expect: ['text contains "right"'] },
    tests: Object.keys(rates).map((name) => ({ name, query: name })),
  });
