import { describe, expect, test } from "vitest";
import { metricsOf } from "../../../src/lib/statistics/ranking-metrics.ts";
import { rateRecords } from "../../../src/commands/measure/eval/rating.ts";
import type { SearchRecord } from "../../../src/operations/knowledge.ts";
import { seededRandom } from "../../../src/lib/numbers.ts";

describe("metrics", () => {
  // K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002, give the grades of ten
  // ranks: 3 2 3 0 0 1 2 2 3 0; with log2 of the rank + 1: 3/1 + 2/1.58496 + 3/2 + 1/2.80735 + 2/3 + 2/3.16993 + 3/3.32193
  test("nDCG of grades", () => {
    const grades = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0];
    const { "ndcg@10": ndcg } = metricsOf(
      { grades, judged: grades, places: [], threshold: 1 },
      [10],
    );
    // best order 3 3 3 2 2 2 1: 3 + 1.89279 + 1.5 + 0.86135 + 0.77371 + 0.71241 + 0.33333 = 9.07359; found 8.31875
    expect(ndcg).toBeCloseTo(8.318_753 / 9.073_596, 5);
  });

  // C. D. Manning, P. Raghavan and H. Schütze, "Introduction to Information Retrieval", 2008, exercise 8.8: eight
  // documents are relevant; as in trec_eval, those that are not found count as 0.
  test("a ranking of the textbook", () => {
    const ranking = "RRNNNNNNRNRNNNRNNNNR";
    const grades = [...ranking].map((each) => Number(each === "R"));
    const found = grades.flatMap((grade, index) => (grade > 0 ? [index + 1] : []));
    const judged = [...grades, 1, 1];
    const places = [...found, Infinity, Infinity];
    const figures = metricsOf({ grades, judged, places, threshold: 1 }, [20]);
    expect(figures).toMatchObject({ "precision@20": 0.3, "recall@20": 0.75, mrr: 1 });
    expect(figures["map"]).toBeCloseTo((1 + 1 + 3 / 9 + 4 / 11 + 5 / 15 + 6 / 20) / 8, 12);
  });

  test("1,000 random rankings agree with the definitions", () => {
    const random = seededRandom(1);
    const below = (count: number) => Math.floor(random() * count);
    for (let round = 0; round < 1_000; round++) {
      const threshold = 1 + below(2);
      const grades = Array.from({ length: below(8) }, () => (below(3) === 0 ? null : below(4)));
      const notFound = Array.from({ length: below(4) }, () => below(4));
      const judged = [...grades.filter((grade) => grade !== null), ...notFound];
      const isRelevant = (grade: number | null) => (grade ?? 0) >= threshold;
      const found = grades.flatMap((grade, index) => (isRelevant(grade) ? [index + 1] : []));
      const places = [...found, ...notFound.filter(isRelevant).map(() => Infinity)];
      const figures = metricsOf({ grades, judged, places, threshold }, [1, 3, 10]);
      expect(figures).toMatchObject(byDefinition(grades, judged, threshold));
    }
  });
});

test("1,000 random searches with several chunks of a document, equal scores and missing documents", () => {
  const random = seededRandom(2);
  const below = (count: number) => Math.floor(random() * count);
  for (let round = 0; round < 1_000; round++) {
    // d0 to d5 exist, and x0 to x2 do not; a document can be named by its name and its ID.
    const names = ["d0", "d1", "d2", "d3", "d4", "d5", "x0", "x1", "x2"];
    const judged = names.filter(() => below(2) === 0);
    if (judged.length === 0) continue;
    const grades = new Map(judged.map((name) => [name, below(4)]));
    const alias = judged.find((name) => name.startsWith("d"));
    const found = Array.from({ length: below(12) }, () => `d${below(6)}`);
    const question = {
      key: "q",
      id: "q",
      question: "q",
      line: 1,
      texts: [],
      passages: [],
      filter: undefined,
      hasAnswer: true,
      maxRank: Infinity,
      grades,
      documents: [...judged, ...(alias === undefined ? [] : [`id of ${alias}`])],
    };
    const records = found.map((name) => {
      const document = { id: `id of ${name}`, name };
      return { segment: { content: "", document }, child_chunks: [], score: 0.5 };
    }) as unknown as SearchRecord[];
    const expected = (written: string) => {
      const name = written.replace("id of ", "");
      return { written, name, id: name.startsWith("d") ? `id of ${name}` : undefined };
    };
    const { figures, missing } = rateRecords(question, records, {
      expected,
      ks: [1, 3, 10],
      threshold: 1,
    });
    const ranked = [...new Set(found)].map((name) => grades.get(name) ?? null);
    expect(figures).toMatchObject(byDefinition(ranked, [...grades.values()], 1));
    const gone = judged.filter((name) => Number(grades.get(name)) > 0 && !found.includes(name));
    expect(missing).toEqual(gone);
  }
});

/** The textbook's definitions, one sum after the other. */
function byDefinition(
  grades: readonly (number | null)[],
  judged: readonly number[],
  threshold: number,
) {
  const isHit = (rank: number) => (grades[rank - 1] ?? 0) >= threshold;
  const all = judged.filter((grade) => grade >= threshold).length;
  const best = [...judged].sort((a, b) => b - a);
  const close = (value: number) => expect.closeTo(value, 9);
  const found: Record<string, unknown> = {};
  for (const k of [1, 3, 10]) {
    let [hits, dcg, ideal] = [0, 0, 0];
    for (let rank = 1; rank <= k; rank++) {
      if (isHit(rank)) hits++;
      dcg += (grades[rank - 1] ?? 0) / Math.log2(rank + 1);
      ideal += (best[rank - 1] ?? 0) / Math.log2(rank + 1);
    }
    found[`recall@${k}`] = close(all === 0 ? 0 : hits / all);
    found[`precision@${k}`] = close(hits / k);
    found[`ndcg@${k}`] = close(ideal === 0 ? 0 : dcg / ideal);
  }
  let [hits, precisions, first] = [0, 0, 0];
  for (let rank = 1; rank <= grades.length; rank++) {
    if (!isHit(rank)) continue;
    hits++;
    precisions += hits / rank;
    if (first === 0) first = rank;
  }
  found["map"] = close(all === 0 ? 0 : precisions / all);
  found["mrr"] = close(first === 0 ? 0 : 1 / first);
  return found;
}
