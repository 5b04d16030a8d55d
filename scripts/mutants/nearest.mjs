/** For how long test files are run at once for a mutant, in ms. */
const BUDGET_MS = 60_000;

/** How many directories two paths have in common, with `src` or `test` taken away. */
function shared(file, test) {
  const [one, other] = [file, test.slice("test/".length)].map((path) =>
    path.split("/").slice(0, -1),
  );
  const different = one.findIndex((name, at) => name !== other[at]);
  return different === -1 ? one.length : different;
}

/** How much a test file is about a file: the words that their names share. */
function alike(file, test) {
  const words = (path) => path.replaceAll(/\.test\.ts$|\.ts$/g, "").split(/[/-]/);
  const own = new Set(words(file));
  return words(test).filter((word) => own.has(word)).length;
}

/**
 * The test files that reach a mutant, in groups of a minute, the nearest first: those of the same directory, of a similar
 * name, of the fewest mutants. `reached` has the numbers of the mutants of `all` that each test file reaches, `durations`
 * how long it takes, in ms. Of a static mutant only the first test of a process is known to reach it, and of one that only
 * further rows of tables or rare tests reach, none: those of its file are taken.
 */
export function nearest({ file, isStatic, number }, all, { reached, durations }) {
  const isKnown = !isStatic && reached.some(({ numbers }) => numbers.includes(number));
  const reaches = ({ numbers }) =>
    isKnown
      ? numbers.includes(number)
      : numbers.some((each) => all[each].file === file && !all[each].isStatic);
  const sorted = reached
    .filter(reaches)
    .map(({ test, numbers }) => ({
      test,
      rank: [-shared(file, test), -alike(file, test), numbers.length],
    }))
    .toSorted(({ rank: one }, { rank: other }) => {
      const at = one.findIndex((value, index) => value !== other[index]);
      return at === -1 ? 0 : one[at] - other[at];
    });
  const groups = [];
  let time = Infinity;
  for (const { test } of sorted) {
    time += durations[test] ?? 0;
    if (time > BUDGET_MS) {
      groups.push([]);
      time = durations[test] ?? 0;
    }
    groups.at(-1).push(test);
  }
  return groups;
}
