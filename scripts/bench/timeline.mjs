// Drawing the timeline of a recorded run: seconds from the start of the command to its end.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clean, folder, measured, median, result, wf } from "./tools.mjs";

/** Writes a recording of `count` nodes, in sequence or in the rounds of an iteration. */
function writeRecording(path, nodes, perRound) {
  const inside = perRound > 0;
  const lines = ['{"recording":1,"program":"wf","started_at":"2026-11-21T12:00:00.000Z"}'];
  let at = 0;
  const event = (kind, data) =>
    lines.push(JSON.stringify({ at, event: { event: kind, workflow_run_id: "r", data } }));
  event("workflow_started", { id: "r", workflow_id: "w", inputs: {}, reason: "initial" });
  if (inside) event("iteration_started", { id: "i", node_id: "i", title: "Rows" });
  for (let index = 0; index < nodes; index++) {
    const place = inside ? index % perRound : index;
    const round = inside ? Math.floor(index / perRound) : 0;
    if (inside && place === 0) event("iteration_next", { id: "i", node_id: "i", index: round });
    const node = {
      id: `execution-${index}`,
      node_id: `node-${place}`,
      node_type: "code",
      title: `Step ${place}`,
      inputs_truncated: false,
      iteration_id: inside ? "i" : null,
    };
    event("node_started", node);
    at += 3;
    event("node_finished", {
      ...node,
      status: index % 1000 === 999 ? "failed" : "succeeded",
      elapsed_time: 0.003,
      outputs: { text: "x".repeat(200) },
      execution_metadata: { iteration_index: round, total_tokens: 12 },
    });
  }
  if (inside) event("iteration_completed", { id: "i", node_id: "i", status: "succeeded" });
  event("workflow_finished", { id: "r", status: "succeeded", outputs: {}, total_tokens: 1 });
  writeFileSync(path, `${lines.join("\n")}\n`);
}

export async function timeline() {
  const nodes = 10_000;
  for (const [what, perRound, format, ...flags] of [
    ["in sequence", 0, "grid"],
    ["rounds together", 5, "grid"],
    ["each round", 5, "grid", "--expand"],
    ["as a page", 0, "html"],
  ]) {
    const path = join(folder, "timeline.jsonl");
    writeRecording(path, nodes, perRound);
    const line = [wf, "timeline", path, "-o", format, ...flags];
    const seconds = [];
    for (let round = 0; round < 3; round++) {
      const run = await measured(line, clean);
      seconds.push(run.seconds);
    }
    rmSync(path);
    const title = `timeline of ${nodes} nodes, ${what}`;
    result(title, median(seconds), "s", { atMost: 1 });
  }
}
