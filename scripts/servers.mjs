// Plays the commands of both programs against running servers: npm run servers -- --help
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { imported } from "./built-sources.mjs";
import { prepare, root } from "./prepare.mjs";
import { Player } from "./servers/player.mjs";
import { cellsOf, saveDifferences, tableOf } from "./servers/report.mjs";
import { reasons, refusals, scenes, unplayed } from "./servers/steps.mjs";

const help = `Usage: npm run servers -- --profile NAME... [--app NAME...] [--pipeline KB...] [--save DIR]

Plays the steps of scripts/servers/steps.md against the servers of stored profiles: each command that sends
requests, but those that steps.md names. Prints a table of the operations.

  --profile NAME   stored profile (kb login) with a knowledge key, or one of the newest (sk-) (repeatable)
  --app NAME       application of the profiles; one of each mode is best (repeatable). With one of the newest
                   keys also an ID
  --pipeline KB    knowledge base with a pipeline (repeatable)
  --save DIR       write the exchanges of what differs, and of the steps that it needs, without keys, in the
                   format of test/recordings

works        exit code 0 (of runs also 8 and 9), JSON on stdout, and a response with the fields that the operation
             declares; nothing else is checked
refused §19  the server refuses it, as section 19 of docs/server.md says
differs      anything else; the exit code is 1
untried      not played, or without a key; the reason is below the table

It makes knowledge bases, a tag, conversations, annotations and, in the knowledge bases of --pipeline, a
document. It removes them by the IDs of their creation, also after Ctrl-C. The API cannot remove runs, generated
texts, uploaded files and end users, so name applications for tests: annotation replies that are disabled are
enabled for a moment, and models may cost money.`;

const list = { type: "string", multiple: true, default: [] };
const { values: options } = parseArgs({
  options: {
    profile: list,
    app: list,
    pipeline: list,
    save: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (options.help || options.profile.length === 0) {
  console.log(help);
  process.exit(options.help ? 0 : 2);
}

prepare();
const [judge] = await imported("servers/judge");
checkSteps();
const stored = options.profile.map((name) => json("kb", "profile", "show", name, "-o", "json"));
const readOnly = stored.find(({ read_only }) => read_only);
if (readOnly) fail(`profile ${readOnly.name} is read-only`, "name a profile that may write");

const folder = mkdtempSync(join(tmpdir(), "kb-wf-servers-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const dot = join(folder, "dot.png");
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
writeFileSync(dot, Buffer.from(pixel, "base64"));
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => {
    if (!stopping.signal.aborted) console.error("stopping: removing what the steps made");
    stopping.abort();
  });
const servers = await Promise.all(stored.map(playServer));
console.log(tableOf(servers));
if (options.save !== undefined) saveDifferences(servers, options.save, judge.redacted);
const left = servers.flatMap((server) => server.left);
if (left.length > 0) console.error(`not removed; run:\n  ${left.join("\n  ")}`);
const states = servers.flatMap(({ cells }) => [...cells.values()].map(({ state }) => state));
const isGood = left.length === 0 && !states.includes("differs");
process.exit(stopping.signal.aborted ? 130 : Number(!isGood));

/** Plays all steps against the server of a profile. */
async function playServer({ name, apps }) {
  const prefix = `kb-wf-${randomBytes(4).toString("hex")}`;
  const page = JSON.stringify({ url: "https://example.com" });
  const values = { prefix, out: join(folder, prefix), examples: join(root, "examples"), dot, page };
  const applications = options.app.filter((app) => Object.hasOwn(apps, app) || judge.isUuid(app));
  const given = { profile: name, folder, values, applications, pipelines: options.pipeline };
  const player = new Player(given, judge, stopping.signal);
  await player.play();
  const { version = "no response", left: remaining, outcomes } = player;
  const cells = cellsOf(judge.operationIds, outcomes, stopping.signal.aborted);
  return { profile: name, version, left: remaining, outcomes, cells };
}

/** Fails if an operation, a command that sends requests, a section or a reason is missing. */
function checkSteps() {
  const steps = scenes.flatMap((scene) => scene.steps);
  const commands = ["kb", "wf"].flatMap((program) => json(program, "help", "--json").commands);
  const page = readFileSync(join(root, "docs", "server.md"), "utf8");
  const isPlayed = (command) => steps.some(({ line }) => `${line} `.startsWith(`${command} `));
  const missing = [
    ...judge.operationIds.filter((id) => !steps.some(({ operation }) => operation === id)),
    ...commands
      .filter(({ operations }) => operations.length > 0)
      .map(({ command }) => command)
      .filter((command) => !isPlayed(command) && !unplayed.includes(command)),
    ...refusals.map(({ section }) => section).filter((each) => !page.includes(`# ${each}`)),
    ...steps.map(({ reason = "inputs" }) => reason).filter((name) => !(name in reasons)),
  ];
  if (missing.length > 0) fail(`missing: ${missing.join(", ")}`, "see scripts/servers/steps.md");
}

/** What a program prints as JSON; ends this one with the program's error if it fails. */
function json(program, ...words) {
  const argv = [join(root, "bin", `${program}.js`), ...words];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  if (status === 0) return JSON.parse(stdout);
  console.error(stderr.trim());
  return process.exit(2);
}

function fail(reason, hint) {
  console.error(`error: ${reason}\nhint: ${hint}`);
  process.exit(2);
}
