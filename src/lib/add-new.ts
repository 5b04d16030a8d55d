/** Adds a value to a set; returns false if the set has it already. */
export function addNew<T>(set: Set<T>, value: T): boolean {
  const { size } = set;
  return set.add(value).size > size;
}
