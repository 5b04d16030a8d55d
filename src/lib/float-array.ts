/** A growable list of numbers, 8 bytes each plus up to 50 % spare capacity. */
export interface Float64List {
  readonly size: number;
  add(value: number): void;
  addAll(others: Float64List): void;
  /** The numbers in ascending order; valid until the next `add`. */
  sorted(): Float64Array;
}

/** An empty list. */
export function newFloat64List(): Float64List {
  let values = new Float64Array(0);
  let size = 0;
  const makeRoom = (more: number) => {
    if (size + more <= values.length) return;
    const grown = new Float64Array(Math.max(size + more, Math.ceil(values.length * 1.5), 4));
    grown.set(values);
    values = grown;
  };
  return {
    get size() {
      return size;
    },
    add(value) {
      makeRoom(1);
      values[size++] = value;
    },
    addAll(others) {
      makeRoom(others.size);
      values.set(others.sorted(), size);
      size += others.size;
    },
    sorted: () => values.subarray(0, size).sort(),
  };
}
