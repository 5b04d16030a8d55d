import { commandLine } from "../../../lib/command-line.ts";
import { formatSeconds, groupDigits } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Plot, Report, Section } from "../../../output/report-model.ts";
import { amount, comparisonTable, neededNotes } from "../eval/index.ts";
import type { Arm } from "./arms.ts";
import { neededInAll, roundsOf } from "./halving.ts";
import type { TuneFinding } from "./halving.ts";
import { costText } from "./plan.ts";
import type { TuneInput, TunePlan } from "./plan.ts";
import type { SearchTrial } from "./trial.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** Shares of the context of today at which the front shows arms. */
const shares = [1, 2, 3, 4, 5, 6, 7, 8].map((eighths) => eighths / 8);

/** The plan of a dry run. */
export function planReport(plan: TunePlan): Report {
  const { arms, parts, cost, kb } = plan;
  const rounds = roundsOf(arms.length - 1, parts.tune.length);
  const steps = [
    ...rounds.map((round) => [counted(round.arms, "arm"), round.questions] as const),
    ["proof: the best arm and the current settings", parts.proof.length] as const,
  ];
  const section = {
    title: `${kb.name}: ${counted(arms.length - 1, "arm")}, ${costText(plan)}`,
    columns: [right("top_k"), left("settings")],
    rows: arms.map(({ label, topK }) => [topK, label]),
    notes: [
      ...steps.map(([who, questions]) => `${who} on ${counted(questions, "question")}`),
      ...leftOutNotes(plan),
    ],
  };
  return { data: { ...dataOf(plan), rounds, cost, arms: arms.map(armData) }, sections: [section] };
}

const leftOutNotes = ({ left: leftOut }: TunePlan) => leftOut.map((each) => `not tried: ${each}`);

/** What the data of a plan and of a result have in common. */
const dataOf = ({ kb, file, parts, left: left_out }: TunePlan) => ({
  kb_tune: 1,
  knowledge_base: { id: kb.id, name: kb.name },
  file,
  questions: { tune: parts.tune.length, proof: parts.proof.length },
  left_out,
});

const armData = ({ label, settings, rule }: Arm) => ({
  label,
  retrieval_model: settings,
  process_rule: rule ?? null,
});

/** A tuning that has ended; without a finding if its minutes were over. */
export interface Tuning {
  readonly plan: TunePlan;
  readonly input: TuneInput;
  readonly finding: TuneFinding<Arm> | undefined;
  /** Mean characters that the settings of today return. */
  readonly characters: number;
  readonly trial: SearchTrial;
  readonly applied: boolean;
}

export function tuningReport(tuning: Tuning): Report {
  const { plan, input, finding, characters, trial, applied } = tuning;
  const { parts, arms } = plan;
  const data = dataOf(plan);
  const needed = neededInAll(data.questions, finding?.comparison);
  const sections = [verdictSection(tuning, needed), armSection(tuning)];
  return {
    data: {
      ...data,
      measure: input.measure ?? "recall",
      context_chars: Math.round(characters),
      verdict: finding?.verdict ?? "inconclusive",
      best: finding?.winner.label ?? null,
      comparison: finding?.comparison ?? null,
      needed,
      applied,
      searches: trial.searches(),
      arms: arms.map((arm) => ({
        ...armData(arm),
        tune: trial.figuresOf(arm, parts.tune, characters),
        proof: trial.figuresOf(arm, parts.proof, characters),
        front: frontOf(arm, tuning),
      })),
    },
    title: `Tuning of ${plan.kb.name}`,
    sections,
    page: () => ({
      facts: { "knowledge base": plan.kb.name, ID: plan.kb.id, questions: plan.file },
      plots: [frontPlot(tuning)],
      sections,
    }),
  };
}

/** What an arm finds within shorter contexts. */
const frontOf = (arm: Arm, { plan, trial, characters }: Tuning) =>
  shares.map((share) => ({
    context_chars: Math.round(share * characters),
    value: trial.figuresOf(arm, plan.parts.tune, share * characters).value,
  }));

/** Quality against the length of the context: the settings of today and the best ones, or the first of the others. */
function frontPlot(tuning: Tuning): Plot {
  const { plan, input, finding } = tuning;
  const [today, first] = plan.arms;
  const best = finding && finding.winner !== today ? finding.winner : first;
  const shown = [today, ...(best ? [best] : [])].map((arm) => ({
    arm,
    front: frontOf(arm, tuning),
  }));
  return {
    title: `${input.measure ?? "recall"} by characters of the context`,
    kind: "lines",
    points: (shown[0]?.front ?? []).map(({ context_chars }) => groupDigits(context_chars)),
    series: shown.map(({ arm, front }) => ({
      label: arm.label,
      values: front.map(({ value }) => value),
    })),
    format: (value) => value.toFixed(2),
    max: 1,
  };
}

/** The proof. */
function verdictSection(tuning: Tuning, needed: ReturnType<typeof neededInAll>): Section {
  const { plan, input, finding } = tuning;
  const { measure = "recall" } = input;
  const verdict = finding?.verdict ?? "inconclusive";
  const compared = finding?.comparison && {
    ...finding.comparison,
    settings: finding.winner.label,
    measure,
  };
  return {
    title: `${plan.kb.name}: ${verdict}`,
    ...comparisonTable(compared ? [compared] : []),
    notes: [
      ...reasons(tuning),
      ...(compared && verdict === "inconclusive" ? neededNotes(compared, needed) : []),
      ...leftOutNotes(plan),
    ],
  };
}

/** Why the verdict is what it is, and what follows. */
function reasons({ plan, input, finding, applied }: Tuning): string[] {
  if (!finding) return ["--max-minutes is used up; the same command with a higher limit continues"];
  const { winner, comparison, verdict } = finding;
  const tuned = counted(plan.parts.tune.length, "question");
  if (!comparison) return [`no other settings looked better on the ${tuned} to tune with`];
  if (verdict !== "better") return [`${winner.label} looked best on the ${tuned} to tune with`];
  if (applied) return ["the search settings are changed"];
  if (winner.rule) {
    const rule = stringifyJson(winner.rule);
    return [
      `its documents have to be split and indexed again with the rule ${rule}`,
      ...(input.save === undefined
        ? [
            "the same command with --save tuned.yml writes a file for kb apply, and sends no search again",
          ]
        : []),
    ];
  }
  const model = { "retrieval-model": stringifyJson(winner.settings) };
  return [`to apply: ${commandLine("kb update", [plan.kb.id], model)}`];
}

/** What each arm found and cost on the questions to tune with. */
function armSection({ plan, input, finding, characters, trial }: Tuning): Section {
  const { measure = "recall" } = input;
  const [today] = plan.arms;
  return {
    title: `Settings, each within ${Math.round(characters)} characters`,
    columns: [
      left("settings"),
      right(measure),
      left("share"),
      right("held out"),
      right("characters"),
      right("seconds"),
      right("questions"),
      left(""),
    ],
    rows: plan.arms.map((arm): Cell[] => {
      const figures = trial.figuresOf(arm, plan.parts.tune, characters);
      const { value, seconds, questions } = figures;
      return [
        arm.label,
        amount(value),
        value === null ? null : { chart: "bar", value },
        amount(trial.figuresOf(arm, plan.parts.proof, characters).value),
        figures.characters === null ? null : Math.round(figures.characters),
        seconds === null ? null : formatSeconds(seconds),
        questions,
        (arm === today && "today") || (arm === finding?.winner ? "best" : ""),
      ];
    }),
    footnotes: [
      "lists are cut so that all settings return texts of the same average length as the current ones",
      "the best figure on the tuning questions is partly chance, so the proof uses questions that were held out",
    ],
  };
}
