import type { Transport } from "../../api/exchange.ts";
import type { HttpRequest } from "../../api/request.ts";

/**
 * The request as it would be sent, the key masked. A multipart body is shown part by part: its
 * boundary is random.
 */
export async function dryRunText(
  request: HttpRequest,
  maskedKey: string,
  transport: Pick<Transport, "blob">,
): Promise<string> {
  const lines = [`${request.method} ${request.url}`, `authorization: Bearer ${maskedKey}`];
  for (const [name, value] of Object.entries(request.headers)) lines.push(`${name}: ${value}`);
  if (request.body?.kind === "json") lines.push("", request.body.text);
  if (request.body?.kind === "form") {
    lines.push("content-type: multipart/form-data");
    for (const part of request.body.parts) {
      lines.push("");
      if ("text" in part) {
        lines.push(`part ${part.name}`, part.text);
        continue;
      }
      const { name, type } = part.file;
      const { size } = await transport.blob(part.file);
      lines.push(`part ${part.name}: file ${JSON.stringify(name)}, ${type}, ${size} bytes`);
    }
  }
  return `${lines.join("\n")}\n`;
}
