/** Formats a value like Python's repr(); long ones lose their middle, as in pydantic's errors. */
export function pythonRepr(value: unknown): string {
  const text = repr(value);
  const characters = [...text];
  if (characters.length <= 50) return text;
  return `${characters.slice(0, 25).join("")}...${characters.slice(-24).join("")}`;
}

function repr(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (typeof value === "object") {
    const fields = Object.entries(value).map(([name, field]) => `${quote(name)}: ${repr(field)}`);
    return `{${fields.join(", ")}}`;
  }
  return String(value as number); // JSON has no other type
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")
    .replaceAll("\0", "\\x00");
  return `${mark}${mark === "'" ? escaped.replaceAll("'", "\\'") : escaped}${mark}`;
}

/** The Python type of a value: `str`, `dict` and so on. */
export function pythonType(value: unknown): string {
  if (value === null || value === undefined) return "NoneType";
  if (Array.isArray(value)) return "list";
  switch (typeof value) {
    case "string":
      return "str";
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(value) ? "int" : "float";
    default:
      return "dict";
  }
}
