// Measures, never fails. Starts are ratios to a bare `node -e 0` (medians of interleaved runs); everything
// else is compared with a bare loop that sends the same requests in the same run.
//   npm run bench                        everything
//   npm run bench -- starts lists        these parts
//   npm run bench -- --json FILE         also write the figures as JSON
import { cpus } from "node:os";
import { writeFileSync } from "node:fs";
import { bases } from "./bench/bases.mjs";
import { binary } from "./bench/binary.mjs";
import { bulk } from "./bench/bulk.mjs";
import { clients } from "./bench/clients.mjs";
import { connectionsAtOnce } from "./bench/connections.mjs";
import { documents } from "./bench/documents.mjs";
import { events } from "./bench/events.mjs";
import { knowledge } from "./bench/knowledge.mjs";
import { large } from "./bench/large.mjs";
import { lists } from "./bench/lists.mjs";
import { logs } from "./bench/logs.mjs";
import { sources } from "./bench/sources.mjs";
import { starts } from "./bench/starts.mjs";
import { plans } from "./bench/plans.mjs";
import { stats } from "./bench/stats.mjs";
import { timeline } from "./bench/timeline.mjs";
import { packageSize } from "./bench/package.mjs";
import { pages } from "./bench/pages.mjs";
import { results } from "./bench/tools.mjs";
import { top } from "./bench/top.mjs";
import { tree } from "./bench/tree.mjs";
import { prepare } from "./prepare.mjs";

const parts = {
  starts,
  tree,
  lists,
  bulk,
  events,
  timeline,
  pages,
  logs,
  stats,
  plans,
  knowledge,
  documents,
  bases,
  large,
  top,
  sources,
  connections: connectionsAtOnce,
  clients,
  package: packageSize,
  binary,
};

/** The parts that compare two sizes: `loads` names them together. */
const loads = ["documents", "bases", "logs", "stats", "large", "top"];

const words = process.argv.slice(2).flatMap((word) => (word === "loads" ? loads : word));
const at = words.indexOf("--json");
const [, json] = at < 0 ? [] : words.splice(at, 2);
const unknown = words.find((word) => !Object.hasOwn(parts, word));
if (unknown !== undefined || (at >= 0 && json === undefined)) {
  console.error(`usage: bench [${[...Object.keys(parts), "loads"].join("|")}]… [--json FILE]`);
  process.exit(2);
}

prepare();
const machine = {
  node: process.version,
  platform: `${process.platform}-${process.arch}`,
  processors: cpus().length,
  processor: cpus()[0]?.model ?? "unknown",
  date: new Date().toISOString().slice(0, 10),
};
console.log(
  `Node ${machine.node}, ${machine.processors} × ${machine.processor}, ${machine.platform}, ${machine.date}`,
);
for (const [name, part] of Object.entries(parts)) {
  if (words.length > 0 && !words.includes(name)) continue;
  console.log(`\n${name}`);
  await part();
  for (const each of results) each.part ??= name;
}
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
