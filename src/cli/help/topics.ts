import { exitCodes } from "../../errors.ts";
import type { topicNames } from "./topic-names.ts";

/** Texts of `help <topic>`. */
export const topics: Readonly<Record<(typeof topicNames)[number], string>> = {
  "exit-codes": [
    "Exit codes",
    "",
    ...Object.entries(exitCodes).map(
      ([name, [code, meaning]]) => `  ${String(code).padStart(3)}  ${name.padEnd(14)} ${meaning}`,
    ),
  ].join("\n"),
  environment: `Environment variables

  KB_BASE_URL      address of the API, with /v1
  KB_KEY           knowledge key (dataset-…)
  KB_APP_KEY       application key (app-…)
  KB_APP           application of the profile
  KB_USER          end user that runs and messages are made for
  KB_PROFILE       stored profile
  KB_OUTPUT        output format, as -o
  KB_NO_INPUT      never ask
  KB_NO_KEYRING    never use the keyring: keys rest in the profile file
  KB_TIMEOUT       as --timeout
  KB_RETRIES       as --retries
  KB_DATASET_IDS   knowledge bases that the key opens, where it does not open
                   all: ids or name=id, with commas between
  KB_ERROR_FORMAT  json: errors as one JSON line on standard error
  KB_DEBUG         1, 2 or 3: as -v, -vv, -vvv
  KB_KEEP_ERRORS   0: keep no failures for \`doctor --last-error\`
  KB_ACCESSIBLE    no redrawing, no spinner, no box drawing
  KB_CONFIG_DIR, KB_STATE_DIR, KB_DATA_DIR, KB_CACHE_DIR
                   folders

Each value comes from the first of: flag, -p on the line, KB_ variable, stored
profile, DIFY_BASE_URL or DIFY_API_URL and DIFY_API_KEY, built-in. An empty
variable counts as unset. \`config explain\` shows where each value comes from.

  HTTPS_PROXY, HTTP_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS, NO_COLOR,
  FORCE_COLOR, CLICOLOR_FORCE, TERM, TZ and CI work as elsewhere.

  A proxy (http://name:password@host:port) is asked for a tunnel, to http as well.
  HTTP_PROXY serves https too where HTTPS_PROXY is not set; names in small letters
  come first. --ca-file adds to the authorities of NODE_EXTRA_CA_CERTS.`,
  output: `Output

  Standard output carries only what was asked for; notices, progress and errors
  go to standard error. Lists are a grid on a terminal and tab-separated values
  without a header in a pipe. Choose with -o:

  grid   table with the chosen columns     json   one array, or one object
  wide   table with all columns            jsonl  one JSON value a line
  tsv    tab-separated, header row         yaml   YAML
  csv    RFC 4180                          name   ids alone
  md     table for a pull request

  --columns a,b.c picks fields by path, --columns help lists them. --jq filters
  with jq's language; strings come out raw. --sort and --reverse order
  the rows of every format. --no-headers, --utc and --relative change tables
  only; JSON keeps the server's values. Before a spreadsheet opens csv or tsv,
  --safe-cells puts an apostrophe before cells that it would run as formulas.

  Reports are several tables. On a terminal charts stand beside their numbers,
  in ASCII with KB_ACCESSIBLE, TERM=dumb or a locale that is not UTF-8. tsv has
  titles and notes as lines with #, csv none, with an empty line between tables;
  json, yaml and --jq give the figures as data. Some are drawn with -o svg.`,
  follow: `Following a run

  wf events RUN            what has happened so far and happens now, until the
                           stream ends
  wf events RUN --follow   reconnects until the run has ended, shows every event
                           once, and confirms the end with the run's detail
  --through-pauses         goes on when the run waits for a person
  -o jsonl                 the server's own events, one a line
  wf logs --follow         runs as they come: each when it appears and again when
                           its status has changed, oldest first

  On a terminal a run is drawn: nodes at work with their time and round, the text
  as it grows, and above them what is done. In a pipe, with KB_ACCESSIBLE, CI or
  TERM=dumb, of several runs and with --only each event is a line.

  Text that was sent while the line was cut is not repeated by the server: such
  a gap is announced. Ctrl-C stops following, never the run.

  0 succeeded   8 waits for a person   9 failed or stopped   11 network
  12 --timeout passed   13 the stream ended without a confirmed end`,
  recordings: `Recordings of runs

  wf run --record FILE         writes the events of the run as they come, with
  wf events RUN --record FILE  their times, to a new file
  wf replay FILE               shows them again and ends as the run did
  wf timeline FILE             when each node began and ended
  wf diff A B                  two runs side by side

  A recording is JSON Lines: {"recording":1,"program","started_at"}, then
  {"at","event"} for each event, ms since the first and the server's own text,
  and {"end":{"exit","why"}} when the command ended by itself. What
  wf events -o jsonl prints is read as well; times are then to the second.

  Credentials are always masked: keys, Authorization, cookies and the like in
  headers and fields, signatures and passwords in addresses. --redact replaces
  every text and number of inputs, outputs, answers, forms and errors by its
  length or kind. Titles and ids of nodes, names of fields, states, times and
  tokens stay, so that timeline, diff of the path and what --expect says of
  them still work.`,
  expect: `Expectations

  --expect takes a sentence about the run, or a YAML file of them, and can be
  repeated. Expectations that are not met end the command with 14.

  run succeeded [within TIME]        succeeded, partial-succeeded, failed,
                                     stopped or paused
  run took BOUND TIME                run took less than 10s
  run used [BOUND] N tokens          tokens or steps
  node NODE succeeded [within TIME]  succeeded, failed or stopped
  node NODE ran [[BOUND] N times]    at least once where nothing is said
  node NODE did not run
  node NODE was retried [[BOUND] N times]
  node NODE was not retried
  node NODE took BOUND TIME
  node NODE used [BOUND] N tokens    all its runs together
  node NODE before NODE              or "A" before "B": A had ended when B began
  VALUE exists                       or: does not exist
  VALUE is JSON                      or: is not; texts stand in quotes
  VALUE contains "text"              or: does not contain
  VALUE matches /pattern/i           or: does not match; flags i, m, s, u, v
  VALUE >= 0.8                       or: >, <=, <
  no errors                          errors, retries, gaps or pauses

  VALUE   output PATH (output answer, output items.0.name); text, the text of
          the answer; error, that of the run
  NODE    "Title" or id, without quotes where it is one word; type llm
  BOUND   at least, at most, exactly, less than, more than
  TIME    30s, 1m30s, 250ms, as the server measured it

  A node that ran several times meets a sentence when it does each time; it
  comes before another by its first time. Patterns are looked for in the first
  65536 characters, for a second. What cannot be info is not met: what happened
  while the line was cut or stood in damaged lines of a recording, retries and
  pauses before watching began, texts and numbers that were redacted.

  A file holds sentences under checks, and short forms for common ones:

    name: Support flow
    checks: [run succeeded, no retries]
    required: [Start, Review]
    forbidden: [Escalate]
    order: [[Start, Review, End]]
    within: {run: 2m, nodes: {Review: 30s}}
    tokens: {max: 5000, nodes: {Answer: 1000}}
    outputs:
      answer: {contains: refund, matches: /ticket \\d+/i}
      score: {equals: 1, exists: true}

  Expectations are the verdict on what they speak of: with 'run failed' a failed
  run ends with 0. How the run ends counts as ever (8, 9) where no sentence
  begins with run and an end. A run that waits for a person ends with 8, and
  nothing is checked, unless one says: run paused. A cut line (13), --timeout
  (12) and an interrupt (130) stay what they are.

  --junit FILE writes the result as JUnit XML, whatever happens: what was not
  checked counts as failed. In GitHub Actions what is not met is also shown as
  an annotation, beside its line of the file.`,
  scripting: `Scripting

  The exit code is the truth: \`help exit-codes\`. With -o json, -o jsonl or
  KB_ERROR_FORMAT=json the last line of standard error is one JSON object:
  {"error":{"code","message","hint","exit",…}}.

    id=$(kb create Handbook --indexing-technique economy -o name)
    kb doc list "$id" --all -o jsonl
    kb tag list --jq '.[].name'
    wf run --input query=hello -o json || echo "ended with $?"

  Nothing is asked without a terminal: deletes need --yes there. --dry-run shows
  the request, --curl shows it as a curl command, --read-only refuses writes.

  Redirects are not followed. A Retry-After is waited for up to 5 minutes. An
  answer of more than 64 MiB is refused, files and event streams aside.`,
  auth: `Keys

  kb takes a knowledge key (dataset-…), wf an application key (app-…); the web
  page of the platform issues both. Keys never stand on the command line:

    kb profile add work --base-url https://example.com/v1 --key-file -   < key
    kb profile add work --key-command 'pass show work/kb'
    KB_KEY=… kb list

  A profile holds one knowledge key and application keys by name:

    wf profile add work --app support --key-file -
    wf --app support logs

  Keys rest in the keyring of the operating system when one answers within two
  seconds, otherwise in the profile file, which only you can read; a notice says
  where, and so does \`profile show\`. --insecure-storage and KB_NO_KEYRING choose
  the file. A keyring that no longer answers ends with 4.

  A stored key is sent only to its own profile's base URL. \`doctor\` tells for
  every key what it is and where it works.`,
  names: `Names and ids

  Where a knowledge base, document, tag or metadata field is wanted, its name or
  its id can be typed. A UUID is an id; everything else is a name that must match
  exactly. name:… and id:… remove doubt. A name nobody has ends with 3, a name
  that several have with 5 and a table of them. A name costs one request more.`,
};
