import css from "../../lib/page/page.css?raw";
import { paletteCss } from "../../lib/page/palette.ts";
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
  const html = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${paletteCss()}${css}</style>
</head>
<body>
<header>
<p class="command">kb sandbox</p>
<h1>${title}</h1>
<p class="made">A stand-in for tests, ${models ? "with stand-in models" : "without models"}. Its keys are public.</p>
</header>
<main>
<ul class="tiles">${Object.entries(counts).map(tile).join("")}</ul>
${part(
  "Connection",
  ["setting", "value"],
  [
    ["base URL", base_url],
    ["knowledge key", knowledge_key],
  ],
)}
${part(
  "Applications",
  ["name", "mode", "key"],
  applications.map(({ name, mode, key }) => [name, mode, key]),
)}
${part(
  "Faults",
  ["fault"],
  faults.map((fault) => [fault]),
)}
</main>
</body>
</html>
`;
  return plainResponse(200, "text/html; charset=utf-8", html);
}

const tile = ([name, count]: readonly [string, number]): string =>
  `<li><span class="label">${escaped(name.replaceAll("_", " "))}</span> <strong>${count}</strong></li>`;

/** A table with its heading; the last of several columns holds what is copied. */
function part(title: string, heads: readonly string[], rows: readonly (readonly string[])[]) {
  const last = heads.length - 1;
  const lines = rows.map((cells) => {
    const all = cells.map((cell, at) => {
      if (at === 0) return `<th scope="row">${escaped(cell)}</th>`;
      const text = at === last ? `<code>${escaped(cell)}</code>` : escaped(cell);
      return `<td data-label="${heads[at] ?? ""}">${text}</td>`;
    });
    return `<tr>${all.join("")}</tr>`;
  });
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  const table = `<table>
<caption class="hidden">${title}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${lines.join("\n")}
</tbody>
</table>`;
  return `<section class="part">
<h2>${title}</h2>
${rows.length === 0 ? '<p class="dim">None.</p>' : table}
</section>`;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
