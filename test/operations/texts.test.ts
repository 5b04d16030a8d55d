/** The texts of every command: progress, success and errors, by hand. */
import { describe, expect, test } from "vitest";
import {
  confirmationText,
  progressText,
  successText,
  withNamesIn,
  withPrefix,
} from "../../src/cli/execute/command-texts.ts";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import type { Command } from "../../src/cli/parse/command.ts";
import { CliError } from "../../src/errors.ts";
import { operations } from "../../src/operations/index.ts";

/** Command, progress, success (empty where none is printed), start of its request's error. */
const table: readonly (readonly [
  command: string,
  progress: string,
  done?: string,
  failed?: string,
])[] = [
  ["kb list", "Listing knowledge bases", "", "failed to list knowledge bases"],
  [
    "kb create",
    "Creating knowledge base NAME",
    "Created knowledge base NAME",
    "failed to create knowledge base NAME",
  ],
  ["kb show", "Getting knowledge base KB", "", "failed to get knowledge base KB"],
  ["kb search", "Searching knowledge base KB", "", "failed to search knowledge base KB"],
  [
    "kb update",
    "Updating knowledge base KB",
    "Updated knowledge base KB",
    "failed to update knowledge base KB",
  ],
  [
    "kb delete",
    "Deleting knowledge base KB",
    "Deleted knowledge base KB",
    "failed to delete knowledge base KB",
  ],
  ["kb apply", "Applying FILE"],
  ["kb copy", "Copying knowledge base KB"],
  ["kb eval", "Evaluating knowledge base KB", "", "failed to search knowledge base KB"],
  ["kb export", "Exporting knowledge base KB"],
  ["kb import", "Importing DIR"],
  ["kb lint", "Checking files in DIR"],
  ["kb plan", "Planning FILE"],
  ["kb pull", "Pulling knowledge base KB"],
  ["kb sync", "Syncing DIR to knowledge base KB"],
  ["kb verify", "Comparing A with B"],
  [
    "kb chunk list",
    "Listing chunks of document KB/DOC",
    "",
    "failed to list chunks of document KB/DOC",
  ],
  [
    "kb doc list",
    "Listing documents in knowledge base KB",
    "",
    "failed to list documents in knowledge base KB",
  ],
  [
    "kb metadata list",
    "Listing metadata fields of knowledge base KB",
    "",
    "failed to list metadata fields of knowledge base KB",
  ],
  ["kb model list", "Listing models", "", "failed to list models"],
  ["kb tag list", "Listing tags", "", "failed to list tags"],
  [
    "kb metadata create",
    "Creating metadata field NAME in knowledge base KB",
    "Created metadata field NAME in knowledge base KB",
    "failed to create metadata field NAME in knowledge base KB",
  ],
  ["kb tag create", "Creating tag NAME", "Created tag NAME", "failed to create tag NAME"],
  [
    "kb chunk add",
    "Adding chunks to document KB/DOC",
    "Added chunks to document KB/DOC",
    "failed to add chunks to document KB/DOC",
  ],
  [
    "kb doc add",
    "Uploading document NAME to knowledge base KB",
    "Uploaded document NAME to knowledge base KB",
    "failed to upload document NAME to knowledge base KB",
  ],
  [
    "kb doc upload",
    "Uploading document FILE to knowledge base KB",
    "Uploaded document FILE to knowledge base KB",
    "failed to upload document FILE to knowledge base KB",
  ],
  ["kb pipeline upload", "Uploading file FILE", "Uploaded file FILE", "failed to upload file FILE"],
  [
    "kb pipeline run",
    "Running pipeline of knowledge base KB",
    "",
    "failed to run pipeline of knowledge base KB",
  ],
  ["kb chunk show", "Getting chunk CHUNK", "", "failed to get chunk CHUNK"],
  ["kb doc show", "Getting document KB/DOC", "", "failed to get document KB/DOC"],
  [
    "kb chunk update",
    "Updating chunk CHUNK",
    "Updated chunk CHUNK",
    "failed to update chunk CHUNK",
  ],
  [
    "kb doc update",
    "Updating document KB/DOC",
    "Updated document KB/DOC",
    "failed to update document KB/DOC",
  ],
  [
    "kb metadata rename",
    "Renaming metadata field FIELD to NAME",
    "Renamed metadata field FIELD to NAME",
    "failed to rename metadata field FIELD to NAME",
  ],
  [
    "kb tag rename",
    "Renaming tag TAG to NAME",
    "Renamed tag TAG to NAME",
    "failed to rename tag TAG to NAME",
  ],
  [
    "kb doc rename",
    "Renaming document KB/DOC to NAME",
    "Renamed document KB/DOC to NAME",
    "failed to update document KB/DOC",
  ],
  [
    "kb doc replace",
    "Replacing document KB/DOC",
    "Replaced document KB/DOC",
    "failed to replace document KB/DOC",
  ],
  [
    "kb chunk delete",
    "Deleting chunk CHUNK",
    "Deleted chunk CHUNK",
    "failed to delete chunk CHUNK",
  ],
  [
    "kb doc delete",
    "Deleting document DOC from knowledge base KB",
    "Deleted document DOC from knowledge base KB",
    "failed to delete document DOC from knowledge base KB",
  ],
  [
    "kb metadata delete",
    "Deleting metadata field FIELD",
    "Deleted metadata field FIELD",
    "failed to delete metadata field FIELD",
  ],
  ["kb tag delete", "Deleting tag TAG", "Deleted tag TAG", "failed to delete tag TAG"],
  [
    "kb doc archive",
    "Archiving document DOC in knowledge base KB",
    "Archived document DOC in knowledge base KB",
    "failed to archive document DOC in knowledge base KB",
  ],
  [
    "kb doc disable",
    "Disabling document DOC in knowledge base KB",
    "Disabled document DOC in knowledge base KB",
    "failed to disable document DOC in knowledge base KB",
  ],
  [
    "kb doc download",
    "Downloading document DOC from knowledge base KB",
    "",
    "failed to download document DOC from knowledge base KB",
  ],
  [
    "kb doc enable",
    "Enabling document DOC in knowledge base KB",
    "Enabled document DOC in knowledge base KB",
    "failed to enable document DOC in knowledge base KB",
  ],
  [
    "kb doc link",
    "Getting download link of document KB/DOC",
    "",
    "failed to get download link of document KB/DOC",
  ],
  [
    "kb doc status",
    "Getting indexing status of batch BATCH",
    "",
    "failed to get indexing status of batch BATCH",
  ],
  [
    "kb doc unarchive",
    "Unarchiving document DOC in knowledge base KB",
    "Unarchived document DOC in knowledge base KB",
    "failed to unarchive document DOC in knowledge base KB",
  ],
  ["kb doc wait", "Waiting for document DOC in knowledge base KB"],
  [
    "kb metadata set",
    "Setting metadata of document DOC in knowledge base KB",
    "Set metadata of document DOC in knowledge base KB",
    "failed to set metadata of document DOC in knowledge base KB",
  ],
  [
    "kb pipeline plugins",
    "Listing data sources of knowledge base KB",
    "",
    "failed to list data sources of knowledge base KB",
  ],
  ["kb pipeline run-node", "Running data source NODE", "", "failed to run data source NODE"],
  [
    "kb tag bind",
    "Binding tag TAG to knowledge base KB",
    "Bound tag TAG to knowledge base KB",
    "failed to bind tag TAG to knowledge base KB",
  ],
  [
    "kb tag bound",
    "Listing tags of knowledge base KB",
    "",
    "failed to list tags of knowledge base KB",
  ],
  [
    "kb tag unbind",
    "Unbinding tag TAG from knowledge base KB",
    "Unbound tag TAG from knowledge base KB",
    "failed to unbind tag TAG from knowledge base KB",
  ],
  [
    "kb chunk child list",
    "Listing child chunks of chunk CHUNK",
    "",
    "failed to list child chunks of chunk CHUNK",
  ],
  [
    "kb metadata built-in list",
    "Listing built-in metadata fields of knowledge base KB",
    "",
    "failed to list built-in metadata fields of knowledge base KB",
  ],
  [
    "kb chunk child add",
    "Adding a child chunk to chunk CHUNK",
    "Added a child chunk to chunk CHUNK",
    "failed to add a child chunk to chunk CHUNK",
  ],
  [
    "kb chunk child update",
    "Updating child chunk CHILD",
    "Updated child chunk CHILD",
    "failed to update child chunk CHILD",
  ],
  [
    "kb chunk child delete",
    "Deleting child chunk CHILD",
    "Deleted child chunk CHILD",
    "failed to delete child chunk CHILD",
  ],
  [
    "kb metadata built-in disable",
    "Disabling built-in metadata fields of knowledge base KB",
    "Disabled built-in metadata fields of knowledge base KB",
    "failed to disable built-in metadata fields of knowledge base KB",
  ],
  [
    "kb metadata built-in enable",
    "Enabling built-in metadata fields of knowledge base KB",
    "Enabled built-in metadata fields of knowledge base KB",
    "failed to enable built-in metadata fields of knowledge base KB",
  ],
  ["kb login", "Signing in to NAME"],
  ["kb profile list", "Listing profiles"],
  ["kb profile show", "Getting profile NAME"],
  ["kb profile use", "Setting default profile to NAME"],
  ["kb profile remove", "Removing profile NAME"],
  ["kb config explain", "Reading configuration"],
  ["kb open", "Opening the page of KB"],
  ["kb api", "Sending request"],
  ["kb doctor", "Running diagnostics"],
  ["kb sandbox", "Starting sandbox"],
  ["kb mcp", "Serving clients"],
  ["wf mcp", "Serving clients"],
  ["wf mcp config", "Printing the configuration of a client"],
  ["kb mcp config", "Printing the configuration of a client"],
  ["kb skill install", "Installing skill"],
  ["kb completion bash", "Printing completion script"],
  ["kb completion zsh", "Printing completion script"],
  ["kb completion fish", "Printing completion script"],
  ["kb completion powershell", "Printing completion script"],
  ["wf run", "Running workflow", "", "failed to run workflow"],
  ["wf show", "Getting run RUN", "", "failed to get run RUN"],
  ["wf open", "Opening the page of RUN"],
  ["wf diff", "Comparing A with B"],
  ["wf test schema", "Printing the schema of suites"],
  ["wf test init", "Creating tests"],
  ["wf test review", "Reviewing answers"],
  ["wf test accept", "Accepting answers"],
  ["wf test merge", "Merging results of tests"],
  ["wf test run", "Running tests", "Ran tests", "failed to run workflow"],
  ["wf events", "Getting events of run RUN", "", "failed to get events of run RUN"],
  ["wf logs", "Listing runs", "", "failed to list runs"],
  ["wf replay", "Replaying FILE"],
  ["wf stats", "Computing statistics", "", "failed to list runs"],
  ["wf top", "Showing active runs"],
  [
    "wf stop",
    "Stopping task TASK",
    "Sent a stop request for task TASK",
    "failed to stop task TASK",
  ],
  ["wf timeline", "Building timeline of RUN"],
  ["wf wait", "Waiting for run RUN"],
  ["wf annotation list", "Listing annotations", "", "failed to list annotations"],
  ["wf conversation list", "Listing conversations", "", "failed to list conversations"],
  ["wf feedback list", "Listing feedback", "", "failed to list feedback"],
  [
    "wf annotation create",
    "Creating annotation",
    "Created annotation",
    "failed to create annotation",
  ],
  ["wf text create", "Generating text", "", "failed to generate text"],
  ["wf file upload", "Uploading file FILE", "Uploaded file FILE", "failed to upload file FILE"],
  ["wf form show", "Getting form", "", "failed to get form"],
  ["wf user show", "Getting end user ID", "", "failed to get end user ID"],
  [
    "wf annotation update",
    "Updating annotation ANNOTATION",
    "Updated annotation ANNOTATION",
    "failed to update annotation ANNOTATION",
  ],
  [
    "wf conversation rename",
    "Renaming conversation CONVERSATION",
    "Renamed conversation CONVERSATION",
    "failed to rename conversation CONVERSATION",
  ],
  [
    "wf annotation delete",
    "Deleting annotation ANNOTATION",
    "Deleted annotation ANNOTATION",
    "failed to delete annotation ANNOTATION",
  ],
  [
    "wf conversation delete",
    "Deleting conversation CONVERSATION",
    "Deleted conversation CONVERSATION",
    "failed to delete conversation CONVERSATION",
  ],
  ["wf app info", "Getting application info", "", "failed to get application info"],
  ["wf app meta", "Getting tool icons", "", "failed to get tool icons"],
  [
    "wf app parameters",
    "Getting application parameters",
    "",
    "failed to get application parameters",
  ],
  ["wf app site", "Getting web app settings", "", "failed to get web app settings"],
  ["wf audio speak", "Converting text to speech", "", "failed to convert text to speech"],
  ["wf audio transcribe", "Transcribing file FILE", "", "failed to transcribe file FILE"],
  ["wf chat", "Holding conversation", "", "failed to send message"],
  ["wf form list", "Listing open forms", "", ""],
  ["wf chat send", "Sending message", "", "failed to send message"],
  [
    "wf chat stop",
    "Stopping task TASK",
    "Sent a stop request for task TASK",
    "failed to stop task TASK",
  ],
  [
    "wf text stop",
    "Stopping task TASK",
    "Sent a stop request for task TASK",
    "failed to stop task TASK",
  ],
  [
    "wf conversation messages",
    "Listing messages of conversation CONVERSATION",
    "",
    "failed to list messages of conversation CONVERSATION",
  ],
  [
    "wf conversation set-variable",
    "Setting variable VARIABLE of conversation CONVERSATION",
    "Set variable VARIABLE of conversation CONVERSATION",
    "failed to set variable VARIABLE of conversation CONVERSATION",
  ],
  [
    "wf conversation variables",
    "Listing variables of conversation CONVERSATION",
    "",
    "failed to list variables of conversation CONVERSATION",
  ],
  ["wf file preview", "Downloading file FILE_ID", "", "failed to download file FILE_ID"],
  ["wf form submit", "Submitting form", "Submitted form", "failed to submit form"],
  ["wf logs export", "Exporting runs to TARGET", "", "failed to list runs"],
  [
    "wf message feedback",
    "Updating rating of message MESSAGE",
    "Updated rating of message MESSAGE",
    "failed to update rating of message MESSAGE",
  ],
  ["wf message suggested", "Listing suggested questions", "", "failed to list suggested questions"],
  [
    "wf annotation reply disable",
    "Disabling annotation replies",
    "Started the job that disables annotation replies",
    "failed to disable annotation replies",
  ],
  [
    "wf annotation reply enable",
    "Enabling annotation replies",
    "Started the job that enables annotation replies",
    "failed to enable annotation replies",
  ],
  [
    "wf annotation reply status",
    "Getting annotation reply status",
    "",
    "failed to get annotation reply status",
  ],
];

const shared =
  /^wf (login|profile|config|api|doctor|sandbox|skill install|completion (bash|zsh|fish|powershell))\b/;
const commands = [...(await commandsOf("kb")), ...(await commandsOf("wf"))].filter(
  ({ words }) => !shared.test(words.join(" ")),
);

/** Each positional as its word in capitals. */
const typedFor = ({ positionals }: Command) =>
  Object.fromEntries(
    positionals.map(({ name, word, variadic }) => {
      const value = word.toUpperCase();
      return [name, variadic ? [value] : value];
    }),
  );

function errorOf(command: Command, typed: Readonly<Record<string, unknown>>): string {
  const row = command.row ?? command.task?.wraps;
  if (!row) return "";
  const error = withNamesIn(withPrefix(new CliError("failure", "why"), row), command, typed);
  return (error as CliError).message.replace(/: why$/, "");
}

const commandNamed = (name: string): Command => {
  const command = commands.find(({ words }) => words.join(" ") === name);
  if (!command) throw new Error(`no command ${name}`);
  return command;
};

test("the table has every command", () => {
  expect(table.map(([name]) => name).toSorted()).toEqual(
    commands.map(({ words }) => words.join(" ")).toSorted(),
  );
});

for (const [name, progress, done = "", failed = ""] of table) {
  test(name, () => {
    const command = commandNamed(name);
    const typed = typedFor(command);
    const own = command.row ?? command.task?.wraps;
    const succeeds = own && command.effect !== "reads" && command.returns.kind !== "events";
    expect(progressText(command, typed)).toBe(progress);
    expect(succeeds ? successText(command, typed) : "").toBe(done);
    expect(errorOf(command, typed)).toBe(failed);
  });
}

test("rows without a command have a prefix of their own", () => {
  const prefixes = operations.map((row) => withPrefix(new CliError("failure", "why"), row).message);
  for (const prefix of prefixes) expect(prefix).toMatch(/^failed to [a-z-]+( [a-z-]+)*: why$/);
});

describe("names", () => {
  const remove = commandNamed("kb doc delete");

  test.each([
    [["a.md"], "Deleting document a.md from knowledge base Handbook"],
    [["a.md", "b.md"], "Deleting documents a.md, b.md from knowledge base Handbook"],
    [["x".repeat(100)], `Deleting document ${"x".repeat(80)}… from knowledge base Handbook`],
  ])("%j are part of the text", (document_id, text) => {
    expect(progressText(remove, { dataset_id: "Handbook", document_id })).toBe(text);
  });

  test("a text without its names has none of them", () => {
    expect(progressText(remove, { dataset_id: "Handbook" })).toBe(
      "Deleting documents from knowledge base Handbook",
    );
    expect(progressText(remove, { document_id: ["a.md"] })).toBe("Deleting document");
    expect(errorOf(commandNamed("kb tag rename"), { tag_id: "draft" })).toBe(
      "failed to rename tag",
    );
  });

  test("the question before a delete has them, too", () => {
    expect(confirmationText(commandNamed("kb delete"), { dataset_id: "Handbook" })).toBe(
      "Delete knowledge base Handbook? This cannot be undone.",
    );
  });
});
