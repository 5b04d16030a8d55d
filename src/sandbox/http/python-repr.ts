/** How the server's language would print a value; long ones lose their middle, as in its errors. */
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
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (typeof value === "object") {
    const fields = Object.entries(value).map(([name, field]) => `${quoted(name)}: ${repr(field)}`);
    return `{${fields.join(", ")}}`;
  }
  return String(value as number); // JSON knows no other kind
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")
    .replaceAll("\0", "\\x00");
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

/** The server's name for the kind of a value: `str`, `dict` and so on. */
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
