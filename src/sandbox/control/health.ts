import { plainResponse, type SandboxResponse } from "../protocol/response.ts";

/** The state of a sandbox. */
export interface Health {
  readonly status: "ok";
  /** Version of the server that it imitates. */
  readonly version: string;
  readonly base_url: string;
  readonly models: boolean;
  readonly knowledge_key: string;
  readonly applications: readonly {
    readonly name: string;
    readonly mode: string;
    readonly key: string;
  }[];
  /** Numbers of what is stored, and of the requests since the start. */
  readonly counts: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

/** The page for people. It has no links: pages of the sandbox may not send requests to it. */
export function healthPage(health: Health): SandboxResponse {
  const { version, base_url, models, knowledge_key, applications, counts, faults } = health;
  const title = `Sandbox, version ${version}`;
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse }
th, td { text-align: left; padding: 0.1rem 1.5rem 0.1rem 0 }
</style>
<h1>${title}</h1>
<p>A stand-in for tests, ${models ? "with stand-in models" : "without models"}. Its keys are public.</p>
${table([
  ["Base URL", base_url],
  ["Knowledge key", knowledge_key],
])}
<h2>Applications</h2>
${table([["name", "mode", "key"], ...applications.map(({ name, mode, key }) => [name, mode, key])], true)}
<h2>Counts</h2>
${table(Object.entries(counts).map(([name, count]) => [name.replaceAll("_", " "), String(count)]))}
<h2>Faults</h2>
${faults.length === 0 ? "<p>None.</p>" : table(faults.map((fault) => [fault]))}
`;
  return plainResponse(200, "text/html; charset=utf-8", html);
}

function table(rows: readonly (readonly string[])[], hasHead = false): string {
  const lines = rows.map((cells, index) => {
    const tag = hasHead && index === 0 ? "th" : "td";
    return `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  });
  return `<table>\n${lines.join("\n")}\n</table>`;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
