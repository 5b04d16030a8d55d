/** The rules of the application `answers`, as a file has them (docs/sandbox.md): questions about a handbook. */

/** Makes passages of a document; their scores are those of its search. */
const passages =
  (document: string) =>
  (score: number, text: string): object => ({ document, text, score });

const leave = passages("leave.md");
const travel = passages("travel-and-expenses.md");
const remote = passages("remote-work.md");

const DAYS = leave(
  0.93,
  "You have 30 days of holiday per calendar year on a five-day week. In the year you join or leave, you get one twelfth for each full month.",
);
const NEXT_YEAR = leave(
  0.9,
  "Days you did not take move into the next year and lapse on 31 March.",
);
const PARENTS = leave(
  0.92,
  "Announce parental leave seven weeks before it begins. It may last three years per child.",
);
const ILL_CHILD = leave(
  0.88,
  "If a child under twelve is ill, each parent may stay at home for up to 15 days a year.",
);
const ILLNESS = leave(
  0.91,
  "Tell your lead before 09:30 on the first morning. A doctor's certificate is needed from the fourth calendar day on.",
);
const OSAKA = passages("osaka-leave.md")(0.9, "入社した日に12日の年次有給休暇が付与されます。");
const HOTELS = travel(
  0.92,
  "Hotels: up to 140 euros a night, 180 in London, Zurich and Tokyo, breakfast included.",
);
const TRAINS = travel(0.9, "Train first. Up to six hours by rail we do not fly.");
const RECEIPTS = travel(
  0.87,
  "Lost a receipt? Up to 25 euros, a signed self-declaration replaces it, at most three times a year.",
);
const ABROAD = remote(
  0.89,
  "You may work from abroad for up to 25 working days per calendar year inside the European Union, and 10 days elsewhere.",
);
const HOME = remote(
  0.91,
  "Office jobs: up to three days a week from home, agreed within the team.",
);
const LAPTOPS = passages("equipment.md")(
  0.9,
  "Laptops are replaced after four years, or earlier if the repair costs more than half of the remaining value.",
);

export const answers = {
  description: "Answers questions about a handbook by rules.",
  knowledge_base: "Handbook",
  rules: [
    {
      question: "/(how (many|much)|days) .*(leave|holiday)/i",
      answers: [
        {
          answer: "You have 30 days of leave a year.",
          weight: 3,
          cites: [DAYS],
          tokens: 410,
          delay: "40ms",
        },
        {
          answer:
            "30 days a year on a five-day week; in your first year, one twelfth for each full month.",
          cites: [DAYS, NEXT_YEAR],
          tokens: 446,
          delay: "60ms",
        },
      ],
    },
    {
      question: "/\\b(parents?|mothers?|fathers?)\\b/i",
      after: "/leave|holiday/i",
      answer:
        "Parental leave may last three years per child. Announce it seven weeks before it begins.",
      cites: [PARENTS, ILL_CHILD],
      tokens: 452,
      delay: "50ms",
    },
    {
      question: "/parental leave/i",
      answer: "It may last three years per child. Announce it seven weeks before it begins.",
      cites: [PARENTS],
      tokens: 431,
      delay: "50ms",
    },
    {
      question: "/carry over|next year|not taken/i",
      answer: "Days that you did not take move into the next year and lapse on 31 March.",
      cites: [NEXT_YEAR],
      tokens: 402,
      delay: "40ms",
    },
    {
      question: "/\\b(ill|sick)\\b|illness/i",
      answer:
        "Tell your lead before 09:30 on the first morning. From the fourth day on, a doctor's certificate is needed.",
      cites: [ILLNESS],
      tokens: 438,
      delay: "50ms",
    },
    {
      question: "/有給休暇|年休/",
      answer: "入社した日に12日の年次有給休暇が付与されます。",
      cites: [OSAKA],
      tokens: 398,
      delay: "50ms",
    },
    {
      question: "/hotel/i",
      answer: "Up to 140 euros a night with breakfast, and 180 in London, Zurich and Tokyo.",
      cites: [HOTELS],
      tokens: 421,
      delay: "40ms",
    },
    {
      question: "/\\b(train|flight|fly|plane)/i",
      answers: [
        {
          answer: "By train: up to six hours by rail we do not fly.",
          cites: [TRAINS],
          tokens: 399,
          delay: "40ms",
        },
        {
          answer:
            "Up to six hours by rail, take the train. Longer trips may be flights in economy.",
          cites: [TRAINS, HOTELS],
          tokens: 433,
          delay: "60ms",
        },
      ],
    },
    {
      question: "/receipt/i",
      answer: "Up to 25 euros, a signed self-declaration replaces it, at most three times a year.",
      cites: [RECEIPTS],
      tokens: 417,
      delay: "40ms",
    },
    {
      question: "/abroad|another country|spain/i",
      answers: [
        {
          answer: "Up to 25 working days a year inside the European Union, and 10 days elsewhere.",
          weight: 4,
          cites: [ABROAD],
          tokens: 423,
          delay: "50ms",
        },
        {
          answer: "Yes, as long as your team agrees.",
          cites: [HOME],
          tokens: 388,
          delay: "40ms",
        },
      ],
    },
    {
      question: "/home|remote/i",
      answer: "Up to three days a week, agreed within your team. Wednesday is on site.",
      cites: [HOME],
      tokens: 405,
      delay: "40ms",
    },
    {
      question: "/laptop/i",
      answer: "Laptops are replaced after four years.",
      cites: [LAPTOPS],
      tokens: 391,
      delay: "40ms",
    },
    {
      question: "/summar/i",
      answer: "The handbook explains leave, travel, remote work and equipment.",
      cites: [DAYS, TRAINS, HOME, LAPTOPS],
      tokens: { prompt: 3900, completion: 300 },
      delay: "2s",
    },
    { question: "Is the model overloaded?", error: "unavailable" },
    { question: "Is the service down?", status: 503 },
  ],
  otherwise: [{ answer: "The handbook does not say.", tokens: 380, delay: "40ms" }],
};
