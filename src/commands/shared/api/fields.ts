import { CliError, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { bytesOf } from "../../../lib/collect.ts";
import { define, isObject, parseJson } from "../../../lib/json.ts";

/** Fields by name; values are JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads `-f name=text` and `-F name=value` as gh does:
 *
 *     -f a=1            { "a": "1" }
 *     -F a=1 -F b=true  { "a": 1, "b": true }
 *     -F a[b]=1         { "a": { "b": 1 } }
 *     -F a[]=1 -F a[]=2 { "a": [1, 2] }
 *     -F a[]            { "a": [] }
 *     -F a=@file        { "a": "the text of the file" }
 */
export async function parseFields(
  raw: readonly string[],
  typed: readonly string[],
  host: Host,
): Promise<Fields> {
  const fields: Record<string, unknown> = {};
  for (const assignment of raw) {
    const [path, text] = parseAssignment(assignment);
    assign(fields, path, text, assignment);
  }
  for (const assignment of typed) {
    const [path, text] = parseAssignment(assignment);
    const value = text?.startsWith("@") ? await fileText(text.slice(1), host) : typedValue(text);
    assign(fields, path, value, assignment);
  }
  return fields;
}

/** `a[b][]=x` → `["a", "b", ""]` and `x`; the text of `a[]` is undefined. */
function parseAssignment(assignment: string): [path: string[], text: string | undefined] {
  const [, name, inner = "", text] =
    /^([^=[\]]+)((?:\[[^[\]=]*\])*)(?:=(.*))?$/s.exec(assignment) ?? [];
  if (name === undefined || (text === undefined && !inner.endsWith("[]"))) {
    const message = `expected name=value, not ${JSON.stringify(assignment)}`;
    throw usage(message, "names can be nested: a[b]=c, a[]=x");
  }
  return [[name, ...[...inner.matchAll(/\[([^[\]]*)\]/g)].map(([, key = ""]) => key)], text];
}

/** Sets a nested field; an empty key appends to a list. */
function assign(
  fields: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
  assignment: string,
): void {
  let at: Record<string, unknown> | unknown[] = fields;
  for (const [index, key] of path.entries()) {
    const next = path[index + 1];
    if (Array.isArray(at) !== (key === "")) {
      throw usage(`${JSON.stringify(assignment)} uses one field as a list and as an object`);
    }
    if (next === undefined) {
      if (!Array.isArray(at)) define(at, key, value);
      else if (value !== undefined) at.push(value);
      return;
    }
    at = enter(at, key, next);
  }
}

function enter(
  at: Record<string, unknown> | unknown[],
  key: string,
  next: string,
): Record<string, unknown> | unknown[] {
  const existing = Array.isArray(at) ? lastOpenItem(at, next) : Object.hasOwn(at, key) && at[key];
  if (isObject(existing) || Array.isArray(existing)) return existing;
  const created = next === "" ? [] : {};
  if (Array.isArray(at)) at.push(created);
  else define(at, key, created);
  return created;
}

/** `a[][x]=1 a[][y]=2 a[][x]=3` are two objects: a key that exists already begins the next one. */
function lastOpenItem(list: readonly unknown[], key: string): unknown {
  const last = list.at(-1);
  return isObject(last) && key !== "" && !Object.hasOwn(last, key) ? last : undefined;
}

/** JSON literals and numbers; otherwise text. */
function typedValue(text: string | undefined): unknown {
  if (text === undefined || !/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?)$/.test(text)) return text;
  return parseJson(text);
}

async function fileText(path: string, host: Host): Promise<string> {
  const bytes =
    path === "-"
      ? await bytesOf(host.stdin.bytes())
      : await host.files.read(path).catch((cause: unknown) => {
          if (cause instanceof CliError) throw cause; // interrupted
          throw usage(`failed to read ${JSON.stringify(path)}`, undefined, { cause });
        });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${JSON.stringify(path)} is not UTF-8 text`);
  }
}
