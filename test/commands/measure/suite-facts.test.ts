/** Facts in which two answers differ. */
import { expect, test } from "vitest";
import { differingFacts } from "../../../src/commands/measure/suites/answers/facts.ts";
import { supportedSentences } from "../../../src/commands/measure/suites/answers/check-chunks.ts";
import { rareTest } from "../../lib/sampled.ts";

test.each([
  // The same, written in another way.
  ["It costs 1000 EUR", "It costs 1,000 EUR"],
  ["Es kostet 1.000 €", "Es kostet 1000 Euro"],
  ["1 000,50 euros", "€1,000.5"],
  ["1'500 CHF", "CHF 1500"],
  ["5%", "5 percent"],
  ["５日", "5日"],
  ["12.50", "12,5"],
  ["dans l'Allemagne", "en Allemagne"],
  ["with Anna-Lena", "with Lena"],
  ["due 2024-05-01", "due on May 1, 2024"],
  ["am 1. Mai 2024", "am 01.05.2024"],
  ["le 3 mars", "le 03/03/2025"],
  ["2024年5月1日", "1 May 2024"],
  ["on 4/5/2024", "on 5 April 2024"],
  ["You do not need it", "You don't need it"],
  ["You cannot", "you can’t"],
  ["ask anna's team in berlin", "Ask Anna in Berlin"],
  ["then I ask", "then I’m asked"],
  ["1. Apply\n2. Wait 3 days", "Wait 3 days"],
  ["Sie haben 30 Tage Urlaub und das Recht", "Sie haben 30 Tage Erholung und das Recht"],
  ["Sie haben Urlaub und Zeit", "Sie haben Erholung und Zeit"],
  ["30 days, and 14 for parents", "30 days"],
  ["申請しなければなりません", "申請する必要があります"],
  ["费用不过五元", "费用五元"],
])("%j states what %j does", (answer, expected) => {
  expect(differingFacts(answer, expected)).toBeUndefined();
});

test.each([
  ["You have 30 days", "You have 13 days", 'number "13 days" is missing (found: "30 days")'],
  ["休暇は20日です", "休暇は12日です", 'number "12日" is missing (found: "20日")'],
  ["5 EUR", "5 %", 'number "5 %" is missing (found: "5 EUR")'],
  ["10 EUR", "10 USD", 'number "10 USD" is missing (found: "10 EUR")'],
  ["1,000 EUR", "1 EUR", 'number "1 EUR" is missing (found: "1,000 EUR")'],
  ["at 5 °C", "at -5 °C", 'number "-5 °C" is missing (found: "5 °C")'],
  ["12345678901234567", "12345678901234568", 'number "12345678901234568" is missing'],
  ["on 2024-05-02", "on May 1, 2024", 'date "May 1, 2024" is missing (found: "2024-05-02")'],
  ["1. Mai 2025", "1. Mai 2024", 'date "1. Mai 2024" is missing (found: "1. Mai 2025")'],
  ["write to Paul in Berlin", "write to Anna in Berlin", 'name "Anna" is missing'],
  ["You may park here", "You may not park here", "0 negations instead of 1"],
  ["You can't park", "You can park", "1 negation instead of 0"],
  ["it is non-refundable", "it is refundable", "1 negation instead of 0"],
  ["with a permit", "without a permit", "0 negations instead of 1"],
  ["Das ist kein Problem", "Das ist ein Problem", "1 negation instead of 0"],
  ["Vous n'avez pas droit", "Vous avez droit", "1 negation instead of 0"],
  ["No se puede", "Se puede", "1 negation instead of 0"],
  ["Это не так", "Это так", "1 negation instead of 0"],
  ["可以停车", "不可以停车", "0 negations instead of 1"],
  ["駐車できます", "駐車できません", "0 negations instead of 1"],
  ["주차할 수 없습니다", "주차할 수 있습니다", "1 negation instead of 0"],
  [
    "none",
    "1, 2, 3 and 4",
    'number "1" is missing, number "2" is missing, number "3" is missing, 2 more differences',
  ],
])("%j does not state what %j does: %s", (answer, expected, difference) => {
  expect(differingFacts(answer, expected)).toContain(difference);
});

rareTest("long texts are compared in a time that grows with their length", () => {
  const numbers = Array.from({ length: 30_000 }, (_, index) => `${index} x`).join(" ");
  expect(differingFacts(numbers, numbers)).toBeUndefined();
  const sentence = "Thirty days of leave a year, says the handbook. ";
  const answer = sentence.repeat(8000);
  const { all, open } = supportedSentences(answer, [answer], { share: 1 });
  expect([all.length, open.length]).toEqual([8000, 0]);
});
