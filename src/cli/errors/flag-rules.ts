/* Flags that mean something else with a single command. */
import { commandLine, shellQuote } from "../../lib/command-line.ts";
import { fieldText, own } from "../../lib/json.ts";
import { isFileName } from "../../lib/text.ts";
import { retrievalShape } from "../../operations/shared.ts";
import { usageHint } from "./failure.ts";
import type { UnknownFlag } from "./failure.ts";
import {
  chunkingFlags,
  chunkingRule,
  filteredSearch,
  flagElsewhere,
  searchFields,
} from "./flags-elsewhere.ts";

interface FlagRule {
  /** Undefined for any flag. */
  readonly flags?: readonly string[];
  /** Words of the commands, if it is not for all. */
  readonly of?: readonly string[];
  /** The hint; undefined where the rule is not for this line. */
  hint(unknown: UnknownFlag): string | undefined;
}

/** Arguments of the line that are no flags. */
const argsOf = ({ node }: UnknownFlag) => node.args.filter((word) => !word.startsWith("-"));

const fileFlags = ["-f", "--file", "--filename"];

const rules: readonly FlagRule[] = [
  {
    flags: ["--last", "--latest", "--newest"],
    hint: ({ command }) =>
      command?.positionals[0]?.word === "run"
        ? `it is an argument: ${commandLine(command.words.join(" "), ["last"])}`
        : undefined,
  },
  {
    flags: ["--approve", "--reject", "--accept", "--decline", "--deny"],
    of: ["wf form submit"],
    hint: ({ flag }) => `did you mean --action ${flag.slice(2)}?`,
  },
  {
    flags: ["--all"],
    of: ["kb doc delete"],
    hint: (unknown) =>
      `name the documents; the knowledge base with all of them: ${commandLine("kb delete", argsOf(unknown).slice(0, 1))}`,
  },
  {
    flags: ["--all", "-L", "--limit", "--page"],
    hint: (unknown) => {
      const { flag, known, command } = unknown;
      if (!command || flagElsewhere(flag, known)) return undefined;
      if (flag === "--all" && command.words.at(-1) === "list") return "that is the default";
      return command.pages ? undefined : `it is for commands that list; ${usageHint(unknown)}`;
    },
  },
  {
    flags: fileFlags,
    of: ["kb create", "kb update"],
    hint: ({ value }) =>
      /\.ya?ml$/.test(value) ? `did you mean ${commandLine("kb apply", [value])}?` : undefined,
  },
  {
    flags: fileFlags,
    of: ["kb doc add"],
    hint: (unknown) => {
      const [kb = "KB"] = argsOf(unknown);
      return `did you mean ${commandLine("kb doc upload", [kb, unknown.value || "FILE"])}?`;
    },
  },
  {
    flags: ["-r", "-R", "--recursive"],
    of: ["kb doc upload", "kb doc add"],
    hint: (unknown) => {
      const [kb = "KB", ...paths] = argsOf(unknown);
      const directory =
        [...paths, unknown.value].find((path) => path && !isFileName(path)) ?? "DIR";
      return `directories are synced: ${commandLine("kb sync", [kb, directory])}`;
    },
  },
  {
    flags: Object.keys(searchFields),
    of: ["kb update"],
    hint: hintOfSetting,
  },
  {
    flags: ["--filter", "--where", "--metadata"],
    of: ["kb search"],
    hint: () =>
      `it is a part of --retrieval-model: --retrieval-model ${shellQuote(filteredSearch)}`,
  },
  { flags: chunkingFlags, hint: hintOfChunking },
  {
    flags: ["-a"],
    hint: ({ program, value }) =>
      program === "wf" && /^[a-z]/.test(value) ? `did you mean --app ${value}?` : undefined,
  },
  {
    flags: ["-d", "--data", "--body"],
    of: ["wf run", "wf chat send", "wf text create"],
    hint: ({ value }) =>
      value.startsWith("{")
        ? `did you mean --inputs ${shellQuote(fieldText(value, "inputs"))}?`
        : undefined,
  },
  {
    flags: ["-X", "--method", "--request"],
    of: ["kb api", "wf api"],
    hint: (unknown) => `the method comes first: ${requestLine(unknown)}`,
  },
  {
    flags: ["--wait", "--follow", "--stream"],
    of: ["wf run"],
    hint: () => "that is the default; --detach starts the run and ends",
  },
  {
    flags: ["--response-mode"],
    of: ["wf run", "wf chat send", "wf text create"],
    hint: ({ value }) =>
      value === "blocking"
        ? "did you mean --blocking?"
        : "that is the default, which --blocking turns off",
  },
  {
    flags: ["--wait"],
    hint: ({ command }) =>
      command?.words[1] === "doc"
        ? `it does not wait; then run ${commandLine("kb doc wait", ["KB"])}`
        : undefined,
  },
  {
    flags: ["-m", "--message", "--text"],
    of: ["wf chat"],
    hint: ({ value }) => `send one message with ${commandLine("wf chat send", [value])}`,
  },
  {
    flags: ["--web"],
    hint: ({ command, node }) =>
      command?.positionals[0]?.name === "dataset_id"
        ? `did you mean ${commandLine("kb open", node.args.slice(0, 1))}?`
        : undefined,
  },
  {
    flags: ["--metadata", "--set"],
    of: ["kb doc upload", "kb doc add"],
    hint: ({ value }) =>
      `values are set afterwards: ${commandLine("kb metadata set", ["KB", "DOC"], { set: value.includes("=") ? value : "FIELD=VALUE" })}`,
  },
  {
    of: ["kb metadata set"],
    hint: ({ flag, value }) =>
      flag.startsWith("--") && /^\w/.test(value)
        ? `did you mean --set ${shellQuote(`${flag.slice(2)}=${value}`)}?`
        : undefined,
  },
];

/** The hint of the first rule for a flag and its command. */
export function hintOfRule(unknown: UnknownFlag): string | undefined {
  const words = unknown.command?.words.join(" ") ?? "";
  for (const { flags, of, hint } of rules) {
    if (flags?.includes(unknown.flag) === false || (of && !of.includes(words))) continue;
    const text = hint(unknown);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The hint for a field of the settings of a search, without a change of the other fields. */
function hintOfSetting({ flag, value, node }: UnknownFlag): string | undefined {
  const field = own(searchFields, flag);
  const [kb = "KB"] = node.args;
  const { choices } = retrievalShape.fields.search_method;
  if (field === "search_method" && !choices.some((each) => each === value))
    return `search methods: ${choices.join(", ")}`;
  const typed = field === "search_method" ? `"${value}"` : `${Number(value) || 5}`;
  const changed = `.retrieval_model_dict + {${field}: ${typed}}`;
  return `it is one of the settings of --retrieval-model: --retrieval-model "$(kb show ${shellQuote(kb)} --jq ${shellQuote(changed)})"`;
}

/** The hint for how documents are split. */
function hintOfChunking({ flag, value, known, program, command }: UnknownFlag): string | undefined {
  if (!command || program !== "kb" || flagElsewhere(flag, known)) return undefined;
  const sizes = ["--chunk-size", "--size", "--max-tokens", "--max-token"];
  const rule = chunkingRule(sizes.includes(flag) && /^\d+$/.test(value) ? value : "500");
  return known.includes("--process-rule")
    ? `it is a part of --process-rule: --process-rule ${shellQuote(rule)}`
    : `documents are split when they are added: ${commandLine("kb doc upload", ["KB", "FILE"], { "process-rule": rule })}`;
}

/** The line for `api -X POST /datasets`. */
function requestLine(unknown: UnknownFlag): string {
  const { program, quoted } = unknown;
  const words = argsOf(unknown);
  const [, attached] = /^(?:-X|--\w+=)([A-Z]+)$/.exec(quoted) ?? [];
  const method = attached ?? words.find((word) => /^[A-Z]+$/.test(word)) ?? "POST";
  const path = words.find((word) => word !== method) ?? "PATH";
  return commandLine(`${program} api`, [method, path]);
}
