import { CliError, reasonOf } from "../../../errors.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import { pathProblem } from "./paths.ts";
import { bytesFrom, outputOf, wordsOf } from "./program.ts";
import { listProgram, MAX_CONTENT, programSource } from "./program-source.ts";

interface CheckRow {
  readonly check: string;
  readonly result: "ok" | "failed";
  readonly note: string | null;
}

/** Objects whose content is read. */
const SAMPLE = 20;

/** Checks that a program keeps the protocol of sources. Throws gate if it does not. */
export async function* run(
  { program: line }: { readonly program: string },
  context: Context,
): AsyncGenerator<CheckRow> {
  const program = { words: wordsOf(line) };
  let failures = 0;
  const row = (check: string, problem?: string, note: string | null = null): CheckRow => {
    if (problem !== undefined) failures++;
    return { check, result: problem === undefined ? "ok" : "failed", note: problem ?? note };
  };
  const list = await listProgram(program, context);
  const invalid = list.objects.filter(({ path }) => pathProblem(path));
  const problem = list.problem ?? namesOf(invalid, "invalid path");
  yield row("list", problem, counted(list.objects.length, "object"));
  const again = await listProgram(program, context);
  const prints = new Map(again.objects.map(({ path, fingerprint }) => [path, fingerprint]));
  const unstable = list.objects.filter((each) => prints.get(each.path) !== each.fingerprint);
  yield row("fingerprints stay", namesOf(unstable, "differs in a second list"));

  const source = programSource(program, "", context);
  await source.list({});
  const step = Math.max(1, Math.floor(list.objects.length / SAMPLE));
  const sample = list.objects.filter((_, index) => index % step === 0).slice(0, SAMPLE);
  const wrong: string[] = [];
  const seen = new Map<string, string>();
  const shared: { readonly path: string }[] = [];
  for (const object of sample) {
    const { path, size, fingerprint = "" } = object;
    try {
      const read = async () => (await source.get(object))?.bytes ?? new Uint8Array();
      const [first, second] = [await read(), await read()];
      const hash = sha256(first);
      if (hash !== sha256(second)) wrong.push(`${path}: two reads differ`);
      if (size !== undefined && !object.isHtml && first.length !== size)
        wrong.push(`${path}: ${first.length} bytes, and a size of ${size}`);
      if ((seen.get(fingerprint) ?? hash) !== hash) shared.push(object);
      seen.set(fingerprint, hash);
    } catch (error) {
      if (context.host.signal.aborted) throw error;
      wrong.push(`${path}: ${reasonOf(error)}`);
    }
  }
  yield row(
    "contents",
    wrong.length > 0 ? firstNames(wrong, 3) : undefined,
    counted(sample.length, "object"),
  );
  yield row("fingerprints differ", namesOf(shared, "has the fingerprint of another content"));
  const missing = await bytesFrom(
    outputOf(program, ["get", "no/such/object"], context),
    MAX_CONTENT,
  ).then(
    () => "get succeeds for a path that is not listed",
    () => undefined,
  );
  yield row("missing objects", missing);
  if (failures > 0)
    throw new CliError("gate", `${counted(failures, "check")} failed`, { isResult: true });
}

function namesOf(objects: readonly { readonly path: string }[], what: string): string | undefined {
  const paths = objects.map(({ path }) => path);
  return paths.length === 0 ? undefined : `${firstNames(paths, 3)}: ${what}`;
}
