import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** An index of the documentation for language models: https://llmstxt.org. */
export function llmsPage(root: string): string {
  const docs = join(root, "docs");
  const names = readdirSync(docs)
    .filter((name) => name.endsWith(".md"))
    .sort();
  const lines = names.map((name) => {
    const { title, about } = headOf(readFileSync(join(docs, name), "utf8"));
    return `- [${title}](${name}): ${about}`;
  });
  return [
    "# kb and wf",
    "> Two command-line programs for Dify-compatible platforms: kb administers knowledge bases, wf runs, follows, tests and measures workflows and chats.",
    "Programs find a command with `kb help --json --compact` and `wf help --json --compact`, its parameters with `kb help COMMAND --json`, and read the exit code. `kb skill install DIR` writes a skill.",
    "## Documentation",
    lines.join("\n"),
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");
}

/** Title of a page, and the first sentence of its first paragraph as plain text. */
function headOf(text: string): { readonly title: string; readonly about: string } {
  const [title = "", ...blocks] = text.split(/\n{2,}/);
  const first = blocks.find((block) => /^(?!```)[A-Z`[]/.test(block)) ?? "";
  const plain = first.replace(/\s+/g, " ").replace(/\[([^\]]+)\]\([^)]*\)/g, "$1");
  const [sentence = plain] = /^.*?[.:](?= |$)/.exec(plain) ?? [];
  return { title: title.replace(/^# /, ""), about: sentence.replace(/:$/, ".") };
}
