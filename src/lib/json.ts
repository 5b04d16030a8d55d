/** Is it a JSON object (no list, not null)? */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value under a key that others chose; undefined where the object has none of its own. */
export const own = <T>(
  object: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (object && Object.hasOwn(object, key) ? object[key] : undefined);

/** The object without its null members, which mean the same as none. */
export const withoutNulls = (object: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** What the text says as JSON; undefined for what is none, or is nested too deep to be written again. */
export function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    JSON.stringify(value);
    return value;
  } catch {
    return undefined;
  }
}

/** A path like `a.b.0.c` looked up in a value; undefined where it leads nowhere. */
export function valueAt(value: unknown, path: string): unknown {
  if (path === "") return value;
  let at = value;
  for (const step of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
}

/**
 * Sets `a.b.0.c` in a tree, making objects, and lists where the next step is a number. False where a
 * list has no such place: it is filled from 0 on.
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
      at = next as Record<string, unknown>; // a list is indexed by its digits like an object
    } else {
      const made: Record<string, unknown> | unknown[] = isIndex(steps[index + 1] ?? "") ? [] : {};
      define(at, step, made);
      at = made as Record<string, unknown>;
    }
  }
  return true;
}

const isIndex = (step: string): boolean => /^(0|[1-9]\d*)$/.test(step);

/** Sets a field whatever its name: assigning to `__proto__` would set the prototype and lose it. */
export const define = (object: object, key: string, value: unknown) =>
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
