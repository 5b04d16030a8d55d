/** Numbers in no order, 8 bytes each and up to half as much again in reserve. */
export interface Float64List {
  readonly size: number;
  add(value: number): void;
  addAll(others: Float64List): void;
  /** All of them, smallest first; good until the next one is added. */
  sorted(): Float64Array;
}

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
