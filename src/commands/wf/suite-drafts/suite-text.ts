import { readableYaml } from "../../../lib/formats/yaml-text.ts";
import type { NamedDraft } from "./draft.ts";

/** Formats tests as a suite. `source` says where they come from; `app` names their application. */
export const suiteText = (
  drafts: readonly NamedDraft[],
  { source, app }: { readonly source: string; readonly app: string | undefined },
): Promise<string> =>
  readableYaml({
    comment: [
      `Tests made from ${source}.`,
      "The expected answers are drafts: read them before you rely on them.",
    ],
    value: { ...(app !== undefined && { app }), tests: drafts.map(testOf) },
    list: "tests",
  });

/** A test with the keys of a suite. */
function testOf({ name, turns, answers, outputs }: NamedDraft): Record<string, unknown> {
  const [only, ...others] = turns;
  const [answer, ...alternatives] = answers;
  const expected = {
    ...(answer !== undefined && {
      answer: alternatives.length === 0 ? answer : answers,
      compare: "similar",
    }),
    ...(Object.keys(outputs).length > 0 && { expect: { outputs: claims(outputs) } }),
  };
  if (others.length === 0) return { name, ...only, ...expected };
  const last = turns.length - 1;
  return {
    name,
    turns: turns.map((turn, index) => (index === last ? { ...turn, ...expected } : turn)),
  };
}

const claims = (outputs: NamedDraft["outputs"]) =>
  Object.fromEntries(Object.entries(outputs).map(([name, value]) => [name, { equals: value }]));
