import { claimForms, runForms } from "../../conditions/index.ts";
import { nodeForms, noForms, runFields } from "../expect/index.ts";
import { logFields } from "../logs/index.ts";
import { figureNames } from "../stats/index.ts";
import conditions from "./conditions.md?raw";
import follow from "./follow.md?raw";
import recordings from "./recordings.md?raw";
import verdicts from "./verdicts.md?raw";

const namesOf = (table: object): string => Object.keys(table).join(", ");

const sentences = (words: string, forms: object): string[] =>
  Object.keys(forms).map((pattern) => `${words} ${pattern}`);

/** The names and sentences that --where, --fail-if and --expect take, by their place in the page. */
const vocabulary: Readonly<Record<string, string>> = {
  logFields: namesOf(logFields),
  figures: figureNames.join(", "),
  runFields: namesOf(runFields),
  sentences: [
    ...sentences("FIELD", claimForms),
    ...sentences("run", runForms),
    ...sentences("node NODE", nodeForms),
    '"Start" before [node] NODE',
    ...sentences("no", noForms),
    "cited DOCUMENT",
  ].join("\n"),
};

/** Help topics about runs and their tests: pages in Markdown. */
export const topics = {
  conditions: conditions.replace(/\{(\w+)\}/g, (place, name: string) => vocabulary[name] ?? place),
  follow,
  recordings,
  verdicts,
};
