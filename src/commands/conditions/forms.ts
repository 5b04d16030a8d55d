import type { ConditionReader } from "./reader.ts";

/** Reads what follows the first words of a sentence about a subject. */
type Form<R, S> = (reader: ConditionReader, subject: S, phrase: string) => R;

/**
 * Forms of a sentence by their patterns, which the help shows. A pattern begins with lower-case words,
 * where `|` separates phrases, and then shows what the function of the form reads:
 *
 *     "failed|did not run [within TIME]"    begins with "failed" or "did not run"
 */
export type Forms<R, S = undefined> = Readonly<Record<string, Form<R, S>>>;

/** The phrases with which a pattern begins. */
const phrasesOf = (pattern: string): string[] =>
  (/^[a-z|-]+(?: [a-z|-]+)*/.exec(pattern)?.[0] ?? "").split("|");

/** Reads one of the forms. `otherwise` is the error if none begins here. */
export function readForm<R, S>(
  reader: ConditionReader,
  forms: Forms<R, S>,
  subject: S,
  otherwise?: { readonly problem: string; readonly hint: string | undefined },
): R {
  const byPhrase = new Map(
    Object.entries(forms).flatMap(([pattern, form]) =>
      phrasesOf(pattern).map((phrase) => [phrase, form]),
    ),
  );
  const phrase = reader.oneOf([...byPhrase.keys()], otherwise);
  const form = byPhrase.get(phrase) as Form<R, S>; // one of its keys
  return form(reader, subject, phrase);
}
