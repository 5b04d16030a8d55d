import type { Transport } from "../../api/client.ts";
import type { HttpRequest } from "../../api/request.ts";
import { shellQuote } from "../../lib/command-line.ts";

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

/** The request as a curl command; the key is a shell variable. */
export function curlText(request: HttpRequest, kind: "dataset" | "app"): string {
  const variable = kind === "dataset" ? "KB_KEY" : "KB_APP_KEY";
  const words = ["curl", "--fail-with-body"];
  if (request.method !== "GET") words.push("-X", request.method);
  words.push(shellQuote(request.url), "-H", `"Authorization: Bearer $${variable}"`);
  for (const [name, value] of Object.entries(request.headers)) {
    words.push("-H", shellQuote(`${name}: ${value}`));
  }
  if (request.body?.kind === "json") words.push("--data-binary", shellQuote(request.body.text));
  if (request.body?.kind === "form") {
    for (const part of request.body.parts) {
      if ("text" in part) words.push("--form-string", shellQuote(`${part.name}=${part.text}`));
      else
        words.push(
          "-F",
          shellQuote(
            `${part.name}=@"${escaped(part.file.path)}";filename="${escaped(part.file.name)}";type=${part.file.type}`,
          ),
        );
    }
  }
  return `${words.join(" ")}\n`;
}

const escaped = (text: string) => text.replace(/["\\]/g, "\\$&");
