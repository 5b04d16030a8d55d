// What the steps gave: the table, and recordings of what differs.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { namesNeeded, scenes } from "./steps.mjs";

/** States of steps: a cell has the first one that a step of its operation has. */
const states = ["differs", "works", "refused", "untried"];

/** The cell of each operation. */
export function cellsOf(ids, outcomes, isStopped) {
  const cellOf = (id) =>
    states
      .flatMap((state) => outcomes.filter((each) => each.state === state))
      .find(({ step }) => step.operation === id);
  const unplayed = (id) => ({
    state: "untried",
    detail: isStopped ? "the steps were stopped" : missingSubject(id),
  });
  return new Map(ids.map((id) => [id, cellOf(id) ?? unplayed(id)]));
}

function missingSubject(id) {
  const isOf = ({ steps }) => steps.some(({ operation }) => operation === id);
  const { subject, modes } = scenes.find(isOf);
  if (subject === "pipeline") return "no knowledge base was given (--pipeline)";
  return `no application was given (--app)${modes ? ` of the mode ${modes.join(" or ")}` : ""}`;
}

/** Operations × servers, and a line for each cell that differs or is untried. */
export function tableOf(servers) {
  const ids = [...servers[0].cells.keys()];
  const shown = ({ state, section }) => (section === undefined ? state : `${state} §${section}`);
  const rows = [
    ["operation", ...servers.map(({ profile, version }) => `${profile} (${version})`)],
    ...ids.map((id) => [id, ...servers.map(({ cells }) => shown(cells.get(id)))]),
  ];
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)));
  const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at])).join("  "));
  const notes = servers.flatMap(({ profile, cells }) =>
    [...cells]
      .filter(([, { state }]) => state === "differs" || state === "untried")
      .map(([id, { state, line = id, detail }]) => `${profile}: ${state}: ${line}: ${detail}`),
  );
  return [...lines.map((line) => line.trimEnd()), "", ...notes].join("\n").trimEnd();
}

/** Writes a recording for each server: the steps that differ, and those from which they have their values. */
export function saveDifferences(servers, directory, redacted) {
  mkdirSync(directory, { recursive: true });
  for (const { profile, version, outcomes } of servers) {
    const differing = outcomes.filter(({ state }) => state === "differs");
    if (differing.length === 0) continue;
    const needed = new Set(differing.flatMap((each) => withSources(each, outcomes)));
    const exchanges = outcomes.filter((each) => needed.has(each)).flatMap(titled);
    const about = `Differences: ${differing.map(({ step }) => step.operation).join(", ")}`;
    const recording = { about, server_version: version, exchanges: exchanges.map(redacted) };
    const file = join(directory, `${profile}.json`);
    writeFileSync(file, `${JSON.stringify(recording, null, 2)}\n`, { mode: 0o600 });
  }
}

const titled = ({ line, exchanges }) =>
  exchanges.map((exchange, at) => ({
    title: at === 0 ? line : `${line} (${at + 1})`,
    ...exchange,
  }));

/** An outcome, and those of the steps that gave what it needs. */
function withSources(outcome, outcomes) {
  const names = namesNeeded(outcome.step);
  const sources = outcomes
    .slice(0, outcomes.indexOf(outcome))
    .filter((each) => each.values === outcome.values)
    .filter(({ step }) => names.some((name) => Object.hasOwn(step.learns, name)));
  return [outcome, ...sources.flatMap((each) => withSources(each, outcomes))];
}
