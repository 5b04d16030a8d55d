import type { Report, Section } from "../../../output/report-model.ts";
import { left, noTable, right } from "../../../output/report-model.ts";
import { counted } from "../../../lib/plural.ts";
import { restOf } from "./changed-answers.ts";
import type { ChangedAnswer, ReviewedAnswers } from "./changed-answers.ts";
import { wordDiff } from "./word-diff.ts";

/** The changed answers as a table; a terminal shows the texts with the words that differ. */
export async function reviewReport(reviewed: ReviewedAnswers): Promise<Report> {
  const { changed, same, unknown, unanswered } = reviewed;
  const title = `${counted(changed.length, "changed answer")}`;
  const rest = restOf(reviewed);
  const notes = rest === "" ? [] : [rest];
  const screens: Section[] = [];
  for (const [index, each] of changed.entries())
    screens.push(await answerSection(each, `${index + 1} of ${changed.length}: `));
  return {
    data: { changed: changed.map(dataOf), same, unknown, unanswered },
    sections: [
      {
        title,
        columns: [left("test"), left("expected"), left("answer"), right("times"), right("runs")],
        rows: changed.map(({ name, expected, answer, count, runs }) => [
          name,
          expected[0] ?? null,
          answer,
          count,
          runs,
        ]),
        notes,
      },
    ],
    more: () => screens,
    screen: [...screens, { ...noTable, title, notes }],
  };
}

const dataOf = ({
  name,
  suite,
  test,
  expected,
  answer,
  count,
  runs,
  unmet,
  obstacle,
  doubt,
}: ChangedAnswer) => ({
  name,
  suite: suite.name,
  path: suite.path,
  test: test.name,
  line: test.from.line,
  expected,
  answer,
  count,
  runs,
  unmet,
  obstacle: obstacle ?? null,
  doubt: doubt ?? null,
});

/** The expected answer and the new one, with the words that differ. */
export async function answerSection(changed: ChangedAnswer, place = ""): Promise<Section> {
  const { name, expected, answer, count, runs, unmet, obstacle, doubt } = changed;
  const [first = "", ...others] = expected;
  const or = others.length > 0 ? ` (or ${counted(others.length, "other")})` : "";
  const times = runs > 1 ? ` (${count} of ${runs})` : "";
  return {
    ...noTable,
    title: `${place}${name}`,
    comparison: {
      titles: [`expected${or}`, `answer${times}`],
      parts: await wordDiff(first, answer),
    },
    notes: [
      ...(unmet.length > 0 ? [`not met: ${unmet.join("; ")}`] : []),
      ...(obstacle === undefined ? [] : [`cannot be accepted: ${obstacle}`]),
      ...(doubt === undefined ? [] : [`accepted only if its test is named: ${doubt}`]),
    ],
  };
}
