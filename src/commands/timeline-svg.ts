import { xml } from "./xml.ts";
import type { Bar } from "./workflow-timeline.ts";

const row = 22;
const label = 260;
const width = 1000;

/** The same waterfall as a picture that stands alone, readable on light and dark ground. */
export function timelineSvg(bars: readonly Bar[], length: number, title: string): string {
  const height = (bars.length + 2) * row;
  const scale = (width - label - 90) / length;
  const lines = bars.map((bar, index) => {
    const y = (index + 2) * row;
    const x = label + bar.start * scale;
    const wide = Math.max(1, (bar.end - bar.start) * scale);
    const name = `${bar.node}${bar.round === null ? "" : ` (round ${bar.round})`}`;
    const took = `${((bar.end - bar.start) / 1000).toFixed(3)} s`;
    return [
      `<text x="${8 + bar.depth * 14}" y="${y}">${xml(shortened(name))}</text>`,
      `<rect class="${classOf(bar)}" x="${x.toFixed(1)}" y="${y - 13}" width="${wide.toFixed(1)}" height="16" rx="2"><title>${xml(`${name}: ${bar.status}, ${took}`)}</title></rect>`,
      `<text class="time" x="${(x + wide + 6).toFixed(1)}" y="${y}">${took}</text>`,
    ].join("");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="13">`,
    "<style>text{fill:#57606a}.time{font-size:11px}.good{fill:#2da44e}.bad{fill:#cf222e}.other{fill:#bf8700}</style>",
    `<text x="8" y="${row - 6}">${xml(`Run ${title}, ${(length / 1000).toFixed(3)} s`)}</text>`,
    ...lines,
    "</svg>",
    "",
  ].join("\n");
}

const classOf = ({ status }: Bar): string =>
  status === "succeeded" ? "good" : /^(failed|exception|stopped)$/.test(status) ? "bad" : "other";

const shortened = (name: string): string => {
  const points = [...name];
  return points.length > 34 ? `${points.slice(0, 33).join("")}…` : name;
};
