import { countCharacters } from "../knowledge/characters.ts";
import type { AppDefinition, AppInputField } from "./app-definitions.ts";
import { pythonRepr } from "../http/python-repr.ts";
import { invalidParam } from "../http/errors.ts";
import { isObject } from "../../lib/json.ts";

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
    const value = values[field.variable] ?? null;
    if (value === null && field.required) {
      throw invalidParam(`${field.variable} is required in input form`);
    }
    if (value !== null) checked[field.variable] = validateValue(field, value, findFile);
  }
  return checked;
}

function validateValue(field: AppInputField, value: unknown, findFile: FileLookup): unknown {
  const name = field.variable;
  switch (field.control) {
    case "number":
      return parseNumber(name, value);
    case "checkbox":
      if (typeof value !== "boolean") {
        throw invalidParam(`${name} in input form must be a valid boolean value`);
      }
      return value;
    case "file":
      return resolveFile(value, findFile);
    case "file-list": {
      const list = Array.isArray(value) ? value : [value];
      if (field.max !== undefined && list.length > field.max) {
        throw invalidParam(`${name} in input form must be less than ${field.max} files`);
      }
      return list.map((file) => resolveFile(file, findFile));
    }
    default:
      return validateText(field, value);
  }
}

function validateText(field: AppInputField, value: unknown): string {
  if (typeof value !== "string") {
    throw invalidParam(
      `(type '${field.control}') ${field.variable} in input form must be a string`,
    );
  }
  if (field.options && !field.options.includes(value)) {
    const choices = pythonRepr(field.options);
    throw invalidParam(`${field.variable} in input form must be one of the following: ${choices}`);
  }
  // characters, not UTF-16 units
  if (field.max !== undefined && countCharacters(value) > field.max) {
    throw invalidParam(`${field.variable} in input form must be less than ${field.max} characters`);
  }
  return value;
}

function parseNumber(name: string, value: unknown): number | null {
  if (typeof value === "number") return value;
  if (typeof value === "string" && value.trim() === "") return null;
  const number = typeof value === "string" ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw invalidParam(`${name} in input form must be a valid number`);
  return number;
}

/** Returns a file of a run or message: an upload or a URL. */
export function resolveFile(sent: unknown, findFile: FileLookup): object {
  const { transfer_method, upload_file_id, url } = isObject(sent) ? sent : {};
  if (transfer_method === "remote_url" && typeof url === "string") return { remote_url: url };
  const file = typeof upload_file_id === "string" ? findFile(upload_file_id) : undefined;
  if (!file) throw invalidParam("Invalid upload file");
  return file;
}
