// The declarations of the library, made from the table of operations: types/operations.d.ts.
import { rowsById } from "../../src/library/client.ts";
import { isList } from "../../src/operations/operation.ts";
import type { AnyOperation, Param, RequiredFields } from "../../src/operations/operation.ts";

/** A property name, in quotes where it must be. */
const named = (name: string) => (/^\w+$/.test(name) ? name : JSON.stringify(name));

/** The type of one value of a parameter; the same as `Input` (operations/params.ts). */
function valueType({ kind, choices }: Param): string {
  if (choices) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  if (kind === "integer" || kind === "number" || kind === "duration") return "number";
  if (kind === "flag") return "boolean";
  if (kind === "file") return "FileInput";
  return kind === "json" ? "unknown" : "string";
}

function paramLine([name, param]: [string, Param]): string {
  const each = valueType(param);
  const type = param.many ? `readonly ${each.includes(" ") ? `(${each})` : each}[]` : each;
  const needed = param.required ?? param.in === "path";
  const help = param.help.replace(/ name or ID\b/, " ID").replaceAll("*/", "* /");
  return `    /** ${help} */\n    readonly ${named(name)}${needed ? "" : "?"}: ${type};`;
}

/** The type of the checked fields of an answer; further fields are JSON. */
function checkedType(fields: RequiredFields): string {
  if (typeof fields === "string") {
    if (fields.startsWith("="))
      return fields
        .slice(1)
        .split("|")
        .map((text) => JSON.stringify(text))
        .join(" | ");
    const types = {
      number: "number",
      time: "number",
      flag: "boolean",
      scalar: "string | number | boolean",
    };
    return types[fields as keyof typeof types] ?? "string";
  }
  if (Array.isArray(fields)) return `readonly (${checkedType(fields[0] as RequiredFields)})[]`;
  const members = Object.entries(fields).map(([name, each]) => {
    const optional = name.endsWith("?");
    const type = checkedType(each as RequiredFields);
    return `readonly ${named(name.replace(/\?$/, ""))}${optional ? "?" : ""}: ${type}${optional ? " | null" : ""}`;
  });
  return members.length === 0 ? "JsonObject" : `JsonObject & { ${members.join("; ")} }`;
}

/** What a method of the row returns. */
function resultType({ returns }: AnyOperation): string {
  if (returns.kind === "nothing") return "Promise<void>";
  if (returns.kind === "events") return "AsyncGenerator<RunEvent>";
  if (returns.kind === "file") return "Promise<AsyncIterable<Uint8Array>>";
  const fields = "fields" in returns ? returns.fields : undefined;
  const type = checkedType(
    fields ?? ("columns" in returns && returns.columns.length > 0 ? { id: "id" } : {}),
  );
  return isList(returns) ? `List<${type}>` : `Promise<${type}>`;
}

/** The method of a row; constant fields of several rows of one operation choose among them. */
function method(row: AnyOperation, siblings: readonly AnyOperation[]): string {
  const fixed = siblings.length > 1 ? Object.entries(row.fixed ?? {}) : [];
  const params = Object.entries(row.params).filter(([, param]) => !param.isAboutFiles);
  const lines = [
    ...fixed.map(([name, value]) => `    readonly ${name}: ${JSON.stringify(value)};`),
    ...params.map(paramLine),
  ];
  const isNeeded =
    fixed.length > 0 || params.some(([, param]) => param.required ?? param.in === "path");
  const input = lines.length === 0 ? "{}" : `{\n${lines.join("\n")}\n  }`;
  const summary = row.summary ?? `${row.action.slice(0, 1).toUpperCase()}${row.action.slice(1)}`;
  return `  /** ${summary}: \`${row.route}\`. */
  ${row.id}(input${isNeeded ? "" : "?"}: ${input}, options?: RequestOptions): ${resultType(row)};`;
}

/** The text of types/operations.d.ts. */
export function operationTypes(): string {
  const byName = Object.entries(rowsById()).sort(([a], [b]) => (a < b ? -1 : 1));
  const methods = byName.flatMap(([, rows]) => {
    const chosen = rows.filter(({ fixed }) => fixed !== undefined);
    const texts = (chosen.length > 0 ? chosen : rows.slice(0, 1)).map((row) => method(row, rows));
    return texts.sort();
  });
  return `// Written by \`npm run reference\` from the table of operations (src/operations).
import type { FileInput, JsonObject, List, RequestOptions, RunEvent } from "./index.d.ts";

/** The operations of the API by their operation id. */
export interface Operations {
${methods.join("\n")}
}
`;
}
