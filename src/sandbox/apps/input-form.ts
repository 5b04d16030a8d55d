import { define, isObject, own } from "../../lib/json.ts";
import { countCharacters } from "../../lib/text.ts";
import { raise } from "../protocol/errors.ts";
import { pythonRepr } from "../protocol/validation.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import type { InputField } from "./definitions/app-features.ts";
import { appError } from "./records/shapes.ts";

/** Finds an uploaded file of the end user by its ID. */
export type FileLookup = (uploadId: string) => object | undefined;

/**
 * Validates and converts the inputs of a run as the server does: drops unknown names, accepts
 * numbers as text. Throws HttpError with the server's texts (server §13).
 */
export function validateInputs(
  app: AppDefinition,
  sent: unknown,
  findFile: FileLookup,
): Record<string, unknown> {
  const values = isObject(sent) ? sent : {};
  const checked: Record<string, unknown> = {};
  for (const field of app.inputs) {
    const name = field.variable;
    const value = own(values, name) ?? null;
    if (value === null && field.required) throw appError("input missing", { name });
    if (value !== null) define(checked, name, validateValue(field, value, findFile));
  }
  return checked;
}

function validateValue(field: InputField, value: unknown, findFile: FileLookup): unknown {
  const { variable: name, type, options, max_length } = field;
  const max = max_length ?? Infinity;
  switch (type) {
    case "number":
      return parseNumber(name, value);
    case "checkbox":
      if (typeof value !== "boolean") throw appError("input not a flag", { name });
      return value;
    case "file":
      return resolveFile(value, findFile);
    case "file-list": {
      const list = Array.isArray(value) ? value : [value];
      if (list.length > max) throw appError("too many input files", { name, max });
      return list.map((file) => resolveFile(file, findFile));
    }
    default: {
      if (typeof value !== "string") throw appError("input not text", { name, type });
      if (options && !options.includes(value)) {
        throw appError("input not a choice", { name, choices: pythonRepr(options) });
      }
      // characters, not UTF-16 units
      if (countCharacters(value) > max) throw appError("input too long", { name, max });
      return value;
    }
  }
}

function parseNumber(name: string, value: unknown): number | null {
  if (typeof value === "number") return value;
  if (typeof value === "string" && value.trim() === "") return null;
  const number = typeof value === "string" ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw appError("input not a number", { name });
  return number;
}

/** Returns a file of a run or message: an upload or a URL. */
export function resolveFile(sent: unknown, findFile: FileLookup): object {
  const { transfer_method, upload_file_id, url } = isObject(sent) ? sent : {};
  if (transfer_method === "remote_url" && typeof url === "string") return { remote_url: url };
  const file = typeof upload_file_id === "string" ? findFile(upload_file_id) : undefined;
  return file ?? raise(appError("input file invalid"));
}
