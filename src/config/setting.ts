/** A value and where it came from, for `config explain`. */
export interface Setting<T = string> {
  readonly value: T | undefined;
  readonly source: string;
}

/** A setting without a value from any source. */
export const unset: Setting = { value: undefined, source: "not set" };
