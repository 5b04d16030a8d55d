/* What values of other programs are among the choices of our flags. */
import { own } from "../../lib/json.ts";
import { flagOf } from "./command.ts";
import type { Command } from "./command.ts";

/** Values of other programs, with those that a flag may have for them. */
const choicesElsewhere: Readonly<Record<string, readonly string[]>> = {
  good: ["like"],
  up: ["like"],
  "thumbs-up": ["like"],
  positive: ["like"],
  "thumbs-down": ["dislike"],
  negative: ["dislike"],
  fail: ["failed", "error"],
  failure: ["failed", "error"],
  bad: ["dislike"],
  down: ["dislike"],
  text: ["string", "text_model"],
  hierarchical: ["hierarchical_model"],
  "parent-child": ["hierarchical_model"],
  qa: ["qa_model"],
  int: ["number"],
  integer: ["number"],
  date: ["time"],
  datetime: ["time"],
  error: ["failed"],
  errors: ["failed"],
  failed: ["error"],
  success: ["succeeded"],
  ok: ["succeeded"],
  done: ["succeeded", "completed", "available"],
  ready: ["available", "completed"],
  completed: ["succeeded", "available"],
  cancelled: ["stopped"],
  canceled: ["stopped"],
  private: ["only_me"],
  me: ["only_me"],
  public: ["all_team_members"],
  everyone: ["all_team_members"],
  team: ["all_team_members"],
  all: ["all_team_members"],
  economic: ["economy"],
  keyword: ["keyword_search"],
  semantic: ["semantic_search"],
  vector: ["semantic_search"],
  hybrid: ["hybrid_search"],
  fulltext: ["full_text_search"],
  "full-text": ["full_text_search"],
};

/** The choice that a typed value is, or that it stands for in other programs: `failed` for `error`. */
export const meantChoice = (typed: string, choices: readonly string[]): string | undefined =>
  [typed, typed.replaceAll("-", "_"), ...(own(choicesElsewhere, typed.toLowerCase()) ?? [])].find(
    (each) => choices.includes(each),
  );

/** The flag that takes this as one of a few values, or as what other programs call one: `--rating like` for `good`. */
export function choiceFor({ params }: Command, typed: string) {
  const found = Object.entries(params).flatMap(([name, param]) => {
    const value = meantChoice(typed, param.choices ?? []);
    return value === undefined ? [] : [{ flag: flagOf(name, param), value }];
  });
  return found.find(({ value }) => value === typed) ?? found[0];
}
