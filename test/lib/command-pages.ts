/** The pages of all commands that have `-o html`, made of data of a sandbox with any text in it. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { write } from "./directory.ts";
import { poisoned } from "./hostile-responses.ts";
import { recordedFile } from "./recorded-file.ts";
import { testSandbox } from "./sandbox.ts";
import type { TestSandbox } from "./sandbox.ts";
import { temporaryDirectory } from "./support.ts";

/** Text that would become markup, if it were not escaped; the ends of all elements that hold texts. */
export const markup = `<img src=x onerror="document.title='owned'">" autofocus onfocus="document.title='owned'" x='&lt;</td></pre></title></style></script><script>document.title="owned"</script>`;

/** Makes the pages, by command; `more` is appended to all texts of the server and of users. */
export async function commandPages(more: string): Promise<ReadonlyMap<string, string>> {
  const server = await testSandbox();
  const folder = await temporaryDirectory();
  const at = (name: string) => join(folder, name);
  await recordings(folder, more);
  await suite(at("suite.yaml"), more);
  await logs(at("logs.jsonl"), more);
  await knowledge(server, folder, more);
  const rest: Readonly<Record<string, readonly string[]>> = {
    "wf timeline": [at("a.jsonl")],
    "wf diff": [at("a.jsonl"), at("b.jsonl"), "--exit-code"],
    "wf stats": ["--from", at("logs.jsonl"), "--by", "version", "--fail-if", "failed>1%"],
    "wf test run": [at("suite.yaml"), "--app", "echo", "--repeat", "2"],
    "kb eval": ["Handbook", at("questions.jsonl"), "--failures"],
    "kb verify": ["Handbook", "Copy"],
    "kb lint": [at("files")],
  };
  const pages = new Map<string, string>();
  for (const [command, words] of Object.entries(rest)) {
    const line = [...command.split(" "), ...words, "-o", "html"];
    const { out, err, exit } = await server.cli(line, { folder });
    if (exit !== 0 && exit !== 14) throw new Error(`${line.join(" ")}: ${err}`);
    pages.set(command, out);
  }
  return pages;
}

/** Recordings of a run with a failed node and of one with an iteration. */
async function recordings(folder: string, more: string): Promise<void> {
  const change = (raw: string) => JSON.stringify(poisoned(JSON.parse(raw), true, "", more));
  const titles = {
    "a.jsonl": "node that is retried twice, then fails",
    "b.jsonl": "iteration: iteration_flatten_output_enabled_workflow",
  };
  for (const [name, title] of Object.entries(titles))
    await recordedFile(join(folder, name), title, { change });
}

async function suite(path: string, more: string): Promise<void> {
  const tests = [
    { name: `says hello${more}`, inputs: { query: `hello${more}` } },
    { name: `fails${more}`, inputs: { query: `leave${more}` }, expect: 'output query is "no"' },
  ];
  await writeFile(path, JSON.stringify({ name: `Echo${more}`, tests })); // JSON is YAML
}

async function logs(path: string, more: string): Promise<void> {
  const rows = Array.from({ length: 40 }, (_, index) => ({
    id: `00000000-0000-4000-8000-0000000000${10 + index}`,
    workflow_run: {
      id: `00000000-0000-4000-9000-0000000000${10 + index}`,
      version: `v${index % 2}${more}`,
      status: index % 4 === 0 ? "failed" : "succeeded",
      error: index % 4 === 0 ? `connection refused${more}` : null,
      elapsed_time: 1 + index / 10,
      total_tokens: 100 * index,
      total_steps: 3,
      created_at: 1_795_219_600 + 1800 * index,
      finished_at: 1_795_219_602 + 1800 * index,
      exceptions_count: 0,
    },
    created_at: 1_795_219_600 + 1800 * index,
  }));
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}

/** Two knowledge bases that differ, questions for the first one, and files with problems. */
async function knowledge({ done }: TestSandbox, folder: string, more: string): Promise<void> {
  for (const name of ["Handbook", "Copy"])
    await done(["kb", "create", name, "--indexing-technique", "economy"]);
  const documents = { leave: "28 days of leave", travel: "Travel by train" };
  for (const [name, text] of Object.entries(documents))
    await done([
      "kb",
      "doc",
      "add",
      "Handbook",
      nameOf(name, more),
      "--text",
      withoutNul(text + more),
    ]);
  await done(["kb", "doc", "add", "Copy", nameOf("leave", more), "--text", "30 days"]);
  for (const name of ["Handbook", "Copy"]) await done(["kb", "doc", "wait", name]);
  const questions = [
    { question: `leave${more}`.slice(0, 250), documents: [nameOf("leave", more)] },
    {
      question: `train${more}`.slice(0, 250),
      documents: [nameOf("leave", more)],
      text: [`not there${more}`],
    },
  ];
  await write(folder, {
    "questions.jsonl": questions.map((row) => `${JSON.stringify(row)}\n`).join(""),
  });
  await mkdir(join(folder, "files"));
  for (const name of ["empty.md", "program.exe"])
    await writeFile(join(folder, "files", `${fileName(more)}${name}`), "");
}

/** A name of a document: at most 200 characters, none of them NUL. */
const nameOf = (name: string, more: string): string => withoutNul(name + more).slice(0, 200);

/** The command line cannot hold NUL. */
const withoutNul = (text: string): string => text.replaceAll("\0", "");

const fileName = (more: string): string => more.replace(/[/\0]/g, "").slice(0, 80);
