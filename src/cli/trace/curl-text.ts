import type { HttpRequest } from "../../api/request.ts";
import { shellQuote } from "../../lib/command-line.ts";

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
