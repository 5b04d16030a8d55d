import { countCharacters } from "../knowledge/characters.ts";
import type { AppDefinition, AppInputField } from "./app-definitions.ts";
import { pythonRepr } from "../http/python-repr.ts";
import { invalidParam as invalid } from "../http/errors.ts";
import { isObject } from "../../lib/json.ts";

/** An uploaded file by its id, if it is there and belongs to the user who runs. */
export type FileLookup = (uploadId: string) => object | undefined;

/**
 * The inputs of a run, checked and converted as the server does it: unknown names are dropped, a
 * number may come as text. Throws Refused with the server's texts (server §13).
 */
export function validateInputs(
  app: AppDefinition,
  sent: unknown,
  fileOf: FileLookup,
): Record<string, unknown> {
  const given = isObject(sent) ? sent : {};
  const checked: Record<string, unknown> = {};
  for (const field of app.inputs) {
    const value = given[field.variable] ?? null;
    if (value === null && field.required) {
      throw invalid(`${field.variable} is required in input form`);
    }
    if (value !== null) checked[field.variable] = checkedValue(field, value, fileOf);
  }
  return checked;
}

function checkedValue(field: AppInputField, value: unknown, fileOf: FileLookup): unknown {
  const name = field.variable;
  switch (field.control) {
    case "number":
      return numberFrom(name, value);
    case "checkbox":
      if (typeof value !== "boolean") {
        throw invalid(`${name} in input form must be a valid boolean value`);
      }
      return value;
    case "file":
      return resolveFile(value, fileOf);
    case "file-list": {
      const list = Array.isArray(value) ? value : [value];
      if (field.max !== undefined && list.length > field.max) {
        throw invalid(`${name} in input form must be less than ${field.max} files`);
      }
      return list.map((file) => resolveFile(file, fileOf));
    }
    default:
      return textFrom(field, value);
  }
}

function textFrom(field: AppInputField, value: unknown): string {
  if (typeof value !== "string") {
    throw invalid(`(type '${field.control}') ${field.variable} in input form must be a string`);
  }
  if (field.options && !field.options.includes(value)) {
    const choices = pythonRepr(field.options);
    throw invalid(`${field.variable} in input form must be one of the following: ${choices}`);
  }
  // Counted in characters, not in UTF-16 units.
  if (field.max !== undefined && countCharacters(value) > field.max) {
    throw invalid(`${field.variable} in input form must be less than ${field.max} characters`);
  }
  return value;
}

function numberFrom(name: string, value: unknown): number | null {
  if (typeof value === "number") return value;
  if (typeof value === "string" && value.trim() === "") return null;
  const read = typeof value === "string" ? Number(value) : Number.NaN;
  if (Number.isNaN(read)) throw invalid(`${name} in input form must be a valid number`);
  return read;
}

/** A file of a run or message: one that was uploaded, or an address. */
export function resolveFile(sent: unknown, fileOf: FileLookup): object {
  const { transfer_method, upload_file_id, url } = isObject(sent) ? sent : {};
  if (transfer_method === "remote_url" && typeof url === "string") return { remote_url: url };
  const file = typeof upload_file_id === "string" ? fileOf(upload_file_id) : undefined;
  if (!file) throw invalid("Invalid upload file");
  return file;
}
