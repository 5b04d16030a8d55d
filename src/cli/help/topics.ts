import { exitCodes } from "../../errors.ts";
import { runTopics } from "../../commands/wf.ts";
import { sharedFlagGroups, sharedFlagHelp } from "../parse/shared-flags.ts";
import type { SharedFlag } from "../parse/shared-flags.ts";
import { renderPage } from "./layout.ts";
import type { HelpBlock, HelpRow } from "./layout.ts";
import type { TopicName } from "./groups.ts";
import auth from "./topics/auth.md?raw";
import environment from "./topics/environment.md?raw";
import formats from "./topics/formats.md?raw";
import names from "./topics/names.md?raw";
import output from "./topics/output.md?raw";
import scripting from "./topics/scripting.md?raw";
import times from "./topics/times.md?raw";

/** The page of a topic; its first line is the title. */
export async function topicText(name: TopicName, width: number): Promise<string> {
  const topic = { ...topics, ...(await runTopics()) }[name];
  return renderPage(typeof topic === "string" ? blocksOf(topic) : topic, width);
}

/** Blocks of a page in Markdown: titles, paragraphs, tables of two columns, and fenced lines. */
function blocksOf(page: string): HelpBlock[] {
  const blocks: HelpBlock[] = [];
  let heading: { title?: string } = {};
  for (const part of page.trimEnd().split("\n\n")) {
    const lines = part.split("\n");
    if (part.startsWith("# ")) blocks.push(part.slice(2));
    else if (part.startsWith("## ")) heading = { title: part.slice(3) };
    else {
      if (part.startsWith("|")) blocks.push({ ...heading, rows: lines.slice(2).map(rowOf) });
      else if (part.startsWith("```")) blocks.push({ ...heading, lines: lines.slice(1, -1) });
      else blocks.push(part);
      heading = {};
    }
  }
  return blocks;
}

function rowOf(line: string): HelpRow {
  const [, term = "", text = ""] = line.split("|").map((cell) => cell.trim());
  return [term, text];
}

const flagRow = (flag: SharedFlag): HelpRow => [
  flag.short === undefined ? `    ${flag.usage}` : flag.usage,
  sharedFlagHelp(flag),
];

type TopicOfFeature = keyof Awaited<ReturnType<typeof runTopics>>;

const topics: Readonly<Record<Exclude<TopicName, TopicOfFeature>, string | readonly HelpBlock[]>> =
  {
    "exit-codes": [
      "Exit codes",
      {
        rows: Object.entries(exitCodes).map(([name, [code, meaning]]): HelpRow => [
          `${String(code).padStart(3)}  ${name.padEnd(13)}`,
          meaning,
        ]),
      },
      "The --help page of a command lists the codes that are special to it.",
    ],
    environment,
    output,
    formats,
    flags: [
      "Common flags",
      "The --help page of a command lists the request flags that it takes. Common flags can also precede the command: `kb -p staging list`.",
      ...Object.entries(sharedFlagGroups).map(([title, flags]): HelpBlock => ({
        title,
        rows: flags.map(flagRow),
      })),
      {
        title: "Help",
        rows: [
          ["-h", "short help of a command"],
          ["    --help", "help with exit codes and requests"],
          ["-V, --version", "version of the program"],
          ["    --licenses", "licenses of the program and of all that it contains"],
        ],
      },
    ],
    times,
    scripting,
    auth,
    names,
  };
