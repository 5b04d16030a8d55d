/** Whether a value is a JSON object (not an array, not null). */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value of an own property, for keys from outside such as `constructor`. */
export const own = <T>(
  object: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (object && Object.hasOwn(object, key) ? object[key] : undefined);

/** The object without its null fields. */
export const withoutNulls = (object: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** Parses JSON; undefined if it is invalid or nested too deeply to be serialized again. */
export const tryParseJson = (text: string): unknown =>
  attempt(() => {
    const value: unknown = JSON.parse(text);
    JSON.stringify(value);
    return value;
  });

/** The value of JSON text; any other text unchanged. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The value at a path such as `a.b.0.c`; undefined if there is none. */
export const valueAt = (value: unknown, path: string): unknown => readerOf(path)(value);

/** Reads the value at a path of many values: the path is split once. */
export function readerOf(path: string): (value: unknown) => unknown {
  const steps = path === "" ? [] : path.split(".");
  return (value) => {
    let at = value;
    for (const step of steps) {
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
      at = (at as Record<string, unknown>)[step];
    }
    return at;
  };
}

/**
 * Sets the value at a path such as `a.b.0.c`. Creates missing objects, and lists if the next step is
 * a number. Returns false if an index would leave a gap in a list.
 */
export function setAt(tree: Record<string, unknown>, path: string, value: unknown): boolean {
  const steps = path.split(".");
  let at: Record<string, unknown> = tree;
  for (const [index, step] of steps.entries()) {
    if (Array.isArray(at) && !(isIndex(step) && Number(step) <= at.length)) return false;
    if (index === steps.length - 1) {
      define(at, step, value);
      break;
    }
    const next = Object.hasOwn(at, step) ? at[step] : undefined;
    if (typeof next === "object" && next !== null) {
      at = next as Record<string, unknown>; // lists are indexed like objects
    } else {
      const made: Record<string, unknown> | unknown[] = isIndex(steps[index + 1] ?? "") ? [] : {};
      define(at, step, made);
      at = made as Record<string, unknown>;
    }
  }
  return true;
}

const isIndex = (step: string): boolean => /^(0|[1-9]\d*)$/.test(step);

/** Sets a field of any name: assigning to `__proto__` would set the prototype. */
export const define = (object: object, key: string, value: unknown) =>
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });

/** The result of the work; undefined if it throws. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The JSON of a field of an object that a text holds: `{"inputs": {…}, "user": "abc"}`; otherwise the text. */
export function fieldText(text: string, name: string): string {
  const value = jsonOrText(text);
  const field = isObject(value) ? own(value, name) : undefined;
  return isObject(field) ? JSON.stringify(field) : text;
}
