/** Formats a value like Python's repr(); long ones lose their middle, as in pydantic's errors. */
export function pythonRepr(value: unknown): string {
  const text = pythonText(value);
  const characters = [...text];
  if (characters.length <= 50) return text;
  return `${characters.slice(0, 25).join("")}...${characters.slice(-24).join("")}`;
}

/** Formats a value like Python's repr(), whole. */
export function pythonText(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value ?? "None");
  const fields = Object.entries(value).map(
    ([name, field]) => `${quote(name)}: ${pythonText(field)}`,
  );
  return `{${fields.join(", ")}}`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\0": "\\x00",
};

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\\n\r\t\0]/g, (character) => ESCAPES[character] ?? character);
  return `${mark}${mark === "'" ? escaped.replaceAll("'", "\\'") : escaped}${mark}`;
}

const TYPES: Readonly<Record<string, string>> = { string: "str", boolean: "bool", object: "dict" };

/** The Python type of a value: `str`, `dict` and so on. */
export function pythonType(value: unknown): string {
  if (value === null || value === undefined) return "NoneType";
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return TYPES[typeof value] ?? "dict";
}
