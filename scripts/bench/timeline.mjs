// The waterfall of a long recording.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export async function timeline({ folder, wf, clean, measured }) {
  const count = 10_000;
  const path = join(folder, "nodes.jsonl");
  const event = (at, kind, data) =>
    JSON.stringify({ at, event: { event: kind, workflow_run_id: "r", data } });
  const lines = ['{"recording":1}', event(0, "workflow_started", { id: "r" })];
  for (let index = 0; index < count; index++) {
    const id = `node ${index}`;
    const node = { id, node_id: id, node_type: "code", title: `Sort ${index}` };
    lines.push(event(index * 10, "node_started", node));
    const end = { status: "succeeded", elapsed_time: 0.007 };
    lines.push(event(index * 10 + 7, "node_finished", { ...node, ...end }));
  }
  lines.push(event(count * 10, "workflow_finished", { id: "r", status: "succeeded", outputs: {} }));
  writeFileSync(path, `${lines.join("\n")}\n`);
  const line = [wf, "timeline", path, "-o", "grid"];
  const { seconds } = await measured(line, { ...clean, KB_CONFIG_DIR: join(folder, "none") });
  console.log(
    `\nWaterfall of ${count} nodes: ${seconds.toFixed(2)} s, start-up included (< 1)${seconds > 1 ? "  over" : ""}`,
  );
}
