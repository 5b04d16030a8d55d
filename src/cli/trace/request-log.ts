import type { HttpRequest } from "../../api/request.ts";
import { shellQuote } from "../../lib/command-line.ts";

/** One attempt to send a request, and its outcome. */
export interface Attempt {
  readonly method: string;
  readonly url: string;
  /** ms until the response headers or the failure. */
  ms?: number;
  status?: number;
  /** Why the attempt got no response. */
  failure?: string;
  /** ms waited before the next attempt. */
  waited?: number;
  /** Kept until the next attempt, or longer if this one failed, for error reports. */
  request?: HttpRequest | undefined;
}

/** Log of the last request attempts, for error reports. */
export interface RequestLog {
  readonly attempts: Attempt[];
  /** Number of all attempts. */
  count: number;
  /** Was a write sent, whatever came of it? */
  hasWritten?: boolean;
  /** The output format of the settings, once they are read. */
  output?: string | undefined;
  /** Names as entered, by the IDs that they were resolved to; hints show them. */
  readonly names: Map<string, string>;
}

/** Attempts that the log holds. */
export const MAX_ATTEMPTS = 10;

/** A log without attempts. */
export const emptyRequestLog = (): RequestLog => ({ attempts: [], count: 0, names: new Map() });

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
