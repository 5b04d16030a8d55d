/** Answers that `compare: similar` must not take for right, and right ones that it must not refuse. */
import { expect, test } from "vitest";
import { compareWords } from "../../../src/commands/measure/suites/answers/compare-answer.ts";
import { supportedSentences } from "../../../src/commands/measure/suites/answers/check-chunks.ts";
import { differingFacts } from "../../../src/commands/measure/suites/answers/facts.ts";
import { usualSimilarity } from "../../../src/commands/measure/suite-file/index.ts";

const passes = (answer: string, expected: string): boolean =>
  (compareWords(answer, expected).similarity ?? 0) >= usualSimilarity &&
  differingFacts(answer, expected) === undefined;

/** What is expected, and a wrong answer. */
const wrong: readonly (readonly [kind: string, expected: string, answer: string])[] = [
  [
    "prices",
    "The Basic plan costs 10 EUR and the Pro plan costs 25 EUR per month.",
    "The Basic plan costs 25 EUR and the Pro plan costs 10 EUR per month.",
  ],
  [
    "prices",
    "Adults pay 12 euros, children pay 6 euros for the whole day.",
    "Adults pay 6 euros, children pay 12 euros for the whole day.",
  ],
  [
    "prices",
    "You pay $40 for the small box and $70 for the large box.",
    "You pay $70 for the small box and $40 for the large box.",
  ],
  [
    "prices",
    "Der Versand nach Berlin kostet 5 Euro und der nach Wien 9 Euro.",
    "Der Versand nach Berlin kostet 9 Euro und der nach Wien 5 Euro.",
  ],
  [
    "places",
    "The library is on floor 2 and the canteen is on floor 7.",
    "The library is on floor 7 and the canteen is on floor 2.",
  ],
  [
    "versions",
    "The service needs Python 3.10 or a later version to run.",
    "The service needs Python 3.1 or a later version to run.",
  ],
  [
    "versions",
    "Please install Node 20.10 before you start the server.",
    "Please install Node 20.1 before you start the server.",
  ],
  [
    "versions",
    "It was fixed in version 2.30 of the program last year.",
    "It was fixed in version 2.3 of the program last year.",
  ],
  [
    "digits",
    "The reference number of your order is 1004500 in our system.",
    "The reference number of your order is 1040500 in our system.",
  ],
  [
    "digits",
    "The balance of the account is 1,250.75 EUR at the moment.",
    "The balance of the account is 1,250.57 EUR at the moment.",
  ],
  [
    "units",
    "The cooling takes 30 minutes before you can open the lid.",
    "The cooling takes 30 days before you can open the lid.",
  ],
  [
    "units",
    "The parcel may weigh up to 20 kg if you send it abroad.",
    "The parcel may weigh up to 20 pounds if you send it abroad.",
  ],
  [
    "units",
    "The cable of the lamp is 3 meters long when you unroll it.",
    "The cable of the lamp is 3 feet long when you unroll it.",
  ],
  [
    "units",
    "Each user may store 5 GB of files in the shared folder.",
    "Each user may store 5 MB of files in the shared folder.",
  ],
  [
    "units",
    "The warranty of the device lasts 24 months after the purchase.",
    "The warranty of the device lasts 24 weeks after the purchase.",
  ],
  [
    "scales",
    "The company made a profit of 3 million euros last year.",
    "The company made a profit of 3 billion euros last year.",
  ],
  [
    "scales",
    "The city has about 4 million inhabitants and many parks.",
    "The city has about 4 thousand inhabitants and many parks.",
  ],
  [
    "scales",
    "Der Umsatz lag im letzten Jahr bei 2 Milliarden Euro.",
    "Der Umsatz lag im letzten Jahr bei 2 Millionen Euro.",
  ],
  [
    "halves of the day",
    "The office opens at 9 am on all days of the week.",
    "The office opens at 9 pm on all days of the week.",
  ],
  [
    "halves of the day",
    "Your flight leaves at 6:45 am from the northern terminal.",
    "Your flight leaves at 6:45 pm from the northern terminal.",
  ],
  [
    "times",
    "The meeting with the team starts at 14:30 in room five.",
    "The meeting with the team starts at 4:30 pm in room five.",
  ],
  [
    "times",
    "The shop closes at 20:00 on every day but not on Sundays.",
    "The shop closes at 22:00 on every day but not on Sundays.",
  ],
  [
    "number words",
    "You have five days to send the goods back to the shop.",
    "You have four days to send the goods back to the shop.",
  ],
  [
    "number words",
    "The course lasts twenty-one days and ends with an exam.",
    "The course lasts twenty-two days and ends with an exam.",
  ],
  [
    "number words",
    "Sie haben vierzehn Tage Zeit, um das Gerät zurück zu geben.",
    "Sie haben vierzig Tage Zeit, um das Gerät zurück zu geben.",
  ],
  [
    "number words",
    "Vous avez soixante-dix jours pour envoyer le dossier complet.",
    "Vous avez soixante jours pour envoyer le dossier complet.",
  ],
  [
    "number words",
    "El curso dura treinta y cinco días y es para todos.",
    "El curso dura treinta y seis días y es para todos.",
  ],
  ["number words", "员工每年有二十五天的带薪休假", "员工每年有二十四天的带薪休假"],
  ["number words", "申請は三十日以内に人事部へ提出します", "申請は二十日以内に人事部へ提出します"],
  [
    "must and may",
    "Employees must report the accident to their manager on the same day.",
    "Employees may report the accident to their manager on the same day.",
  ],
  [
    "must and may",
    "The form is required for the refund of your travel costs.",
    "The form is optional for the refund of your travel costs.",
  ],
  [
    "before and after",
    "You have to pay the fee before the delivery of the goods.",
    "You have to pay the fee after the delivery of the goods.",
  ],
  [
    "before and after",
    "Bitte melden Sie sich vor der Reise bei der Versicherung.",
    "Bitte melden Sie sich nach der Reise bei der Versicherung.",
  ],
  [
    "all and few",
    "All rooms of the hotel have a balcony with a view.",
    "Few rooms of the hotel have a balcony with a view.",
  ],
  [
    "all and none",
    "All of the lockers in the hall are free of charge.",
    "None of the lockers in the hall are free of charge.",
  ],
  [
    "always",
    "The door of the lab is always locked when you leave.",
    "The door of the lab is never locked when you leave.",
  ],
  [
    "higher and lower",
    "The price in the shop is higher than the price online.",
    "The price in the shop is lower than the price online.",
  ],
  [
    "more and less",
    "It takes more than 3 hours to drive there by car.",
    "It takes less than 3 hours to drive there by car.",
  ],
  [
    "at most",
    "You may take at most 5 books home at the same time.",
    "You may take at least 5 books home at the same time.",
  ],
  [
    "open and closed",
    "The museum is open on Monday and on all public holidays.",
    "The museum is closed on Monday and on all public holidays.",
  ],
  [
    "possible",
    "It is possible to change the booking after the payment.",
    "It is impossible to change the booking after the payment.",
  ],
  [
    "possible",
    "Es ist möglich, die Buchung nach der Zahlung zu ändern.",
    "Es ist unmöglich, die Buchung nach der Zahlung zu ändern.",
  ],
  [
    "not",
    "Pets are allowed in all rooms on the ground floor.",
    "Pets are not allowed in all rooms on the ground floor.",
  ],
  [
    "not",
    "You can return the article without the original box.",
    "You cannot return the article without the original box.",
  ],
  [
    "allowed",
    "Smoking is allowed on the terrace behind the main building.",
    "Smoking is forbidden on the terrace behind the main building.",
  ],
  [
    "names",
    "Please write to Anna in Berlin if you have a question.",
    "Please write to Paul in Berlin if you have a question.",
  ],
  [
    "dates",
    "The offer ends on 31 March 2026 at the end of the day.",
    "The offer ends on 13 March 2026 at the end of the day.",
  ],
  [
    "dates",
    "The contract starts on 2025-04-01 and has no fixed end.",
    "The contract starts on 2026-04-01 and has no fixed end.",
  ],
  // Written by somebody who did not know the rules.
  [
    "units",
    "El autobús gratuito recoge a los clientes que viven a menos de 10 km de la tienda.",
    "El autobús gratuito recoge a los clientes que viven a menos de 10 millas de la tienda.",
  ],
  [
    "scales",
    "このサービスの登録利用者数は、昨年末の時点で三百万人を超えています。",
    "このサービスの登録利用者数は、昨年末の時点で三十万人を超えています。",
  ],
  [
    "must and may",
    "Tenants may paint the walls in light colours without asking the landlord first.",
    "Tenants must paint the walls in light colours without asking the landlord first.",
  ],
  [
    "before and after",
    "请在提交订单之前填写发票信息，并核对公司名称和税号。",
    "请在提交订单之后填写发票信息，并核对公司名称和税号。",
  ],
  [
    "open and closed",
    "La piscina municipal está abierta los lunes de agosto, salvo en caso de tormenta.",
    "La piscina municipal está cerrada los lunes de agosto, salvo en caso de tormenta.",
  ],
];

/** What is expected, and a right answer in other words. */
const right: readonly (readonly [kind: string, expected: string, answer: string])[] = [
  [
    "number words",
    "You have thirty days to return the goods.",
    "You have 30 days to return the goods.",
  ],
  [
    "number words",
    "You have 30 days to return the goods.",
    "You have thirty days to return the goods.",
  ],
  [
    "number words",
    "Sie haben vierzehn Tage Zeit für den Widerruf.",
    "Sie haben 14 Tage Zeit für den Widerruf.",
  ],
  [
    "number words",
    "Vous avez quatre-vingt-dix jours pour le dossier.",
    "Vous avez 90 jours pour le dossier.",
  ],
  [
    "number words",
    "El plazo es de treinta y cinco días para el envío.",
    "El plazo es de 35 días para el envío.",
  ],
  [
    "number words",
    "Innerhalb von vierzehn Tagen nach Erhalt.",
    "Innerhalb von 14 Tagen nach Erhalt.",
  ],
  ["number words", "员工每年有三十天的带薪休假", "员工每年有30天的带薪休假"],
  [
    "number words",
    "El curso dura dieciséis días en el verano.",
    "El curso dura 16 días en el verano.",
  ],
  [
    "number words",
    "Sie haben dreissig Tage Zeit für den Widerruf.",
    "Sie haben 30 Tage Zeit für den Widerruf.",
  ],
  [
    "times",
    "The meeting starts at 14:30 in the large room.",
    "The meeting starts at 2:30 pm in the large room.",
  ],
  [
    "times",
    "The shop opens at 9 am from Monday to Friday.",
    "The shop opens at 9:00 from Monday to Friday.",
  ],
  [
    "times",
    "Das Büro schließt um 17 Uhr und am Freitag früher.",
    "Das Büro schließt um 17:00 Uhr und am Freitag früher.",
  ],
  [
    "dates",
    "The offer ends on 31 March 2026 for new customers.",
    "The offer ends on March 31, 2026 for new customers.",
  ],
  [
    "dates",
    "The contract starts on 2025-04-01 for both sides.",
    "The contract starts on 1 April 2025 for both sides.",
  ],
  [
    "dates",
    "Die Frist endet am 01.05.2024 für alle Kunden.",
    "Die Frist endet am 1. Mai 2024 für alle Kunden.",
  ],
  [
    "lists",
    "Bring a passport, a photo and the signed form.",
    "Bring the signed form, a photo and a passport.",
  ],
  ["lists", "It comes in red, green, blue and white.", "It comes in white, blue, green and red."],
  [
    "lists",
    "You need:\n- a visa\n- a ticket\n- an insurance",
    "You need:\n- an insurance\n- a visa\n- a ticket",
  ],
  [
    "units",
    "The warranty lasts 2 years after the purchase.",
    "The warranty lasts 24 months after the purchase.",
  ],
  ["units", "The table is 2 m long.", "The table is 200 cm long."],
  [
    "units",
    "The film takes 90 minutes without a break.",
    "The film takes 1.5 hours without a break.",
  ],
  ["scales", "The city has 2.5 million inhabitants.", "The city has 2,500,000 inhabitants."],
  [
    "currencies",
    "The ticket costs 1000 EUR for one person.",
    "The ticket costs €1,000 for one person.",
  ],
  [
    "opposites",
    "It is not possible to change the booking later.",
    "It is impossible to change the booking later.",
  ],
  [
    "opposites",
    "Smoking is not allowed in the whole building.",
    "Smoking is prohibited in the whole building.",
  ],
  [
    "short forms",
    "You do not need a visa for a short stay.",
    "You don't need a visa for a short stay.",
  ],
  ["must not", "You must not park in front of the gate.", "You may not park in front of the gate."],
  [
    "order",
    "The Pro plan costs 25 EUR, the Basic plan costs 10 EUR.",
    "The Basic plan costs 10 EUR, the Pro plan costs 25 EUR.",
  ],
];

/** Right ones that fail all the same: two clauses are no list. */
const refused: readonly string[] = ["The Basic plan costs 10 EUR, the Pro plan costs 25 EUR."];

test.each(wrong)("%s: %j is not %j", (_, expected, answer) => {
  expect(passes(answer, expected)).toBe(false);
});

test.each(right.filter(([, , answer]) => !refused.includes(answer)))(
  "%s: %j is also %j",
  (_, expected, answer) => {
    const { similarity } = compareWords(answer, expected);
    expect([similarity, differingFacts(answer, expected)]).toEqual([expect.any(Number), undefined]);
    expect(similarity).toBeGreaterThanOrEqual(usualSimilarity);
  },
);

const chunk = [
  "Employees do not pay for parking. Guests pay 5 euros for parking in the garage.",
  "Each trip is approved by Anna Weber, the head of sales. Paul Klein reports to Anna Weber.",
  "The garage is open after 6 pm. Visitors must sign the list before they enter the building.",
].join("\n");

test.each([
  ["Guests pay 5 euros for parking in the garage.", true],
  ["Employees do not pay for parking.", true],
  ["Guests do not pay for parking in the garage.", false], // the negation of another sentence
  ["Employees pay for parking.", false],
  ["Each trip is approved by Anna Weber.", true],
  ["Each trip is approved by Maria Weber.", false],
  ["Paul Klein reports to Anna Weber.", true],
  ["Anna Weber reports to Paul Klein.", false],
  ["The garage is open after 18:00.", true],
  ["The garage is open after 6 am.", false],
  ["The garage is closed after 6 pm.", false],
  ["Visitors may sign the list before they enter the building.", false],
  ["Visitors must sign the list after they enter the building.", false],
])("%j is supported: %j", (sentence, isSupported) => {
  const { open } = supportedSentences(sentence, [chunk], { share: 0.7 });
  expect(open).toEqual(isSupported ? [] : [sentence]);
});
