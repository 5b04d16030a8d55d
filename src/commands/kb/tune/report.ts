import { commandLine } from "../../../lib/command-line.ts";
import { formatSeconds } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Report, Section } from "../../../output/report-model.ts";
import { amount, signed } from "../eval/index.ts";
import type { Arm } from "./arms.ts";
import { neededInAll, roundsOf } from "./halving.ts";
import type { TuneFinding } from "./halving.ts";
import { costText } from "./plan.ts";
import type { TuneInput, TunePlan } from "./plan.ts";
import type { SearchTrial } from "./trial.ts";

/** Shares of the context of today at which arms are shown. */
const shares = [0.25, 0.5, 1] as const;

/** The plan of a dry run. */
export function planReport(plan: TunePlan): Report {
  const { arms, parts, cost, kb, left: leftOut } = plan;
  const rounds = roundsOf(arms.length - 1, parts.tune.length);
  const proof = counted(parts.proof.length, "question");
  const section = {
    title: `${kb.name}: ${counted(arms.length - 1, "arm")}, ${costText(plan)}`,
    columns: [right("top_k"), left("settings")],
    rows: arms.map(({ label, topK }) => [topK, label]),
    notes: [
      ...rounds.map(
        (round) =>
          `${counted(round.arms, "arm")} on ${counted(round.questions, "question")} to tune with`,
      ),
      `proof: the best one and the settings of today on ${proof}`,
      ...leftOut.map((each) => `not tried: ${each}`),
    ],
  };
  return { data: { ...dataOf(plan), rounds, cost, arms: arms.map(armData) }, sections: [section] };
}

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
  return {
    data: {
      ...data,
      measure: input.measure ?? "recall",
      context_chars: Math.round(characters),
      verdict: finding?.verdict ?? "cannot be told",
      best: finding?.winner.label ?? null,
      comparison: finding?.comparison ?? null,
      needed,
      applied,
      searches: trial.searches(),
      arms: arms.map((arm) => ({
        ...armData(arm),
        tune: trial.figuresOf(arm, parts.tune, characters),
        proof: trial.figuresOf(arm, parts.proof, characters),
        front: shares.map((share) => {
          const { value } = trial.figuresOf(arm, parts.tune, share * characters);
          return { context_chars: Math.round(share * characters), value };
        }),
      })),
    },
    sections: [verdictSection(tuning, needed), armSection(tuning)],
  };
}

function verdictSection(tuning: Tuning, needed: ReturnType<typeof neededInAll>): Section {
  const { plan, finding, characters, trial } = tuning;
  const [today] = plan.arms;
  const verdict = finding?.verdict ?? "cannot be told";
  const tones = { better: "good", "keep what you have": "dim", "cannot be told": "warn" } as const;
  const shown = finding?.comparison ? [today, finding.winner] : [];
  const rows = shown.map((arm): Cell[] => {
    const { value, questions } = trial.figuresOf(arm, plan.parts.proof, characters);
    const { difference, interval, p } = finding?.comparison ?? {};
    const compared = arm !== today;
    return [
      arm.label,
      amount(value),
      compared && typeof difference === "number" ? signed(difference) : null,
      compared && interval ? `${signed(interval.low)} to ${signed(interval.high)}` : null,
      compared ? amount(p) : null,
      questions,
      compared ? { text: verdict, tone: tones[verdict] } : null,
    ];
  });
  return {
    title: `${plan.kb.name}: ${verdict}`,
    columns: [
      left("held-out questions"),
      right(tuning.input.measure ?? "recall"),
      right("change"),
      left("95 % of samples"),
      right("p"),
      right("questions"),
      left("verdict"),
    ],
    rows,
    notes: [
      ...reasons(tuning),
      ...(verdict === "cannot be told"
        ? needed.flatMap(({ difference, questions }) =>
            questions === null
              ? []
              : [
                  `a difference of ${difference} takes ${counted(questions, "question")} in all (4 of 5 times)`,
                ],
          )
        : []),
      ...plan.left.map((each) => `not tried: ${each}`),
    ],
  };
}

/** Why the verdict is what it is, and what follows. */
function reasons({ plan, input, finding, applied }: Tuning): string[] {
  if (!finding) return ["the minutes are over; the same command with more of them continues"];
  const { winner, comparison, verdict } = finding;
  const tuned = counted(plan.parts.tune.length, "question");
  if (!comparison) return [`no other settings looked better on the ${tuned} to tune with`];
  if (verdict !== "better") return [`${winner.label} looked best on the ${tuned} to tune with`];
  if (applied) return ["the search settings are changed"];
  if (winner.rule) {
    const rule = JSON.stringify(winner.rule);
    return [
      `its documents have to be split and indexed again with the rule ${rule}`,
      ...(input.save === undefined
        ? [
            "the same command with --save tuned.yml writes a file for kb apply, and sends no search again",
          ]
        : []),
    ];
  }
  const model = { "retrieval-model": JSON.stringify(winner.settings) };
  return [`to apply: ${commandLine("kb update", [plan.kb.id], model)}`];
}

/** Quality against the length of the context and time. */
function armSection({ plan, input, finding, characters, trial }: Tuning): Section {
  const { measure = "recall" } = input;
  const front = shares.map((share) => Math.round(share * characters));
  return {
    title: `${measure} within ${front.join(", ")} characters`,
    columns: [
      left("settings"),
      ...front.map((each) => right(`in ${each}`)),
      left("share"),
      right("characters"),
      right("seconds"),
      right("questions"),
      left(""),
    ],
    rows: plan.arms.map((arm): Cell[] => {
      const values = front.map((each) => trial.figuresOf(arm, plan.parts.tune, each).value);
      const figures = trial.figuresOf(arm, plan.parts.tune, characters);
      const { value, seconds, questions } = figures;
      return [
        arm.label,
        ...values.map(amount),
        value === null ? null : { chart: "bar", value },
        figures.characters === null ? null : Math.round(figures.characters),
        seconds === null ? null : formatSeconds(seconds),
        questions,
        (arm === plan.arms[0] && "today") || (arm === finding?.winner ? "best" : ""),
      ];
    }),
    notes: [
      `of each list so many chunks count that they have ${Math.round(characters)} characters on average, as those of today have`,
      "these are the questions to tune with: the best figure is partly chance, the proof is not",
    ],
  };
}
