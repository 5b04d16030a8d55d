// Takes pictures of pages that `-o html` prints, with an installed Chromium.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";

const script = `
wf --app answers test run suite.yaml --repeat 3 -o html > test-report.html
wf stats --from logs.jsonl -o html > statistics.html; true`;

/** Two weeks of runs, fewer at weekends; more fail on the tenth day, and take longer. */
function* logs() {
  for (let index = 0; index < 1400; index++) {
    const day = index % 14;
    if (Math.sin(index * 5.3) > (day % 7 > 4 ? -0.6 : 0.6 + Math.sin(day * 3) / 3)) continue;
    const hour = 12 + 5 * Math.sin(index * 2.4) + 3 * Math.sin(index * 7.1);
    const elapsed_time =
      2 + 1.5 * Math.abs(Math.sin(index * 1.7)) ** 3 + (day === 9 ? 2 : Math.sin(day) / 4);
    const created_at = Math.round(Date.UTC(2026, 9, 5, hour) / 1000) + 86_400 * day;
    const failed = Math.sin(index * 3.7) > (day === 9 ? 0.8 : 0.99);
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const ended = failed
      ? { status: "failed", error: "connection to the model refused" }
      : { status: "succeeded", error: null };
    const figures = { elapsed_time, total_tokens: Math.round(300 * elapsed_time), total_steps: 4 };
    const run = {
      id,
      ...ended,
      ...figures,
      created_at,
      finished_at: Math.ceil(created_at + elapsed_time),
    };
    yield { id, workflow_run: { ...run, exceptions_count: 0 }, created_at };
  }
}

/** Writes the pictures to a directory. Throws if there is no `chromium`. */
export function drawPages(root, { suite }, images) {
  const place = mkdtempSync(join(tmpdir(), "pages-"));
  const options = { cwd: place, env: { ...process.env, HOME: place, TZ: "UTC" }, stdio: "ignore" };
  writeFileSync(join(place, "suite.yaml"), stringify(suite));
  writeFileSync(
    join(place, "logs.jsonl"),
    [...logs()].map((row) => JSON.stringify(row)).join("\n"),
  );
  const kb = [join(root, "bin", "kb.js"), "sandbox", "--ephemeral", "--", "sh", "-c", script];
  execFileSync(process.execPath, kb, options);
  for (const name of ["test-report", "statistics"]) {
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"];
    const picture = [`--screenshot=${join(images, `${name}.png`)}`, "--window-size=1100,866"];
    const page = `file://${join(place, `${name}.html`)}`;
    execFileSync("chromium", [...flags, ...picture, page], options);
  }
  rmSync(place, { recursive: true, force: true });
}
