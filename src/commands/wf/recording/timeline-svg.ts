import { formatDuration } from "../../../lib/duration.ts";
import type { TimelineRow } from "./timeline-rows.ts";
import { escapeXml } from "../../../lib/formats/xml.ts";
import { shortened } from "../../../lib/plural.ts";

const rowHeight = 22;
const labelWidth = 300;
/** Space for the duration after a bar. */
const timeWidth = 130;
const width = 1100;
const indent = 14;
/** Maximum characters of a label, and of the text after a bar. */
const MAX_LABEL = 40;
const MAX_INFO = 30;
const ticks = 4;

const style = `
text{fill:#1f2328}
.dim{fill:#59636e;font-size:11px}
line{stroke:#d1d9e0}
.good{fill:#2da44e}.bad{fill:#cf222e}.warn{fill:#bf8700}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}line{stroke:#3d444d}.bad{fill:#f85149}.warn{fill:#d29922}}
`.trim();

/** The waterfall as a self-contained SVG for light and dark backgrounds. */
export function timelineSvg(rows: readonly TimelineRow[], length: number, title: string): string {
  const height = (rows.length + 3) * rowHeight;
  const scale = (width - labelWidth - timeWidth) / length;
  const grid = Array.from({ length: ticks + 1 }, (_, index) => {
    const x = rounded(labelWidth + (index / ticks) * length * scale);
    return `<line x1="${x}" y1="${2 * rowHeight - 4}" x2="${x}" y2="${height - rowHeight / 2}"/><text class="dim" x="${x + 3}" y="${2 * rowHeight - 6}">${escapeXml(formatDuration((index / ticks) * length))}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="13">`,
    `<title>${safeText(title)}</title>`,
    `<style>${style}</style>`,
    `<text x="8" y="${rowHeight - 6}">${safeText(title)}</text>`,
    ...grid,
    ...rows.map((row, index) => barOf(row, (index + 3) * rowHeight - 6, scale)),
    "</svg>",
    "",
  ].join("\n");
}

function barOf(
  { label, depth, state, tone, start, end, took }: TimelineRow,
  y: number,
  scale: number,
) {
  const x = rounded(labelWidth + start * scale);
  const wide = rounded(Math.max(1, (end - start) * scale));
  const time = formatDuration(took);
  // Not everyone can distinguish the colors.
  const info = state === "succeeded" ? time : `${time}, ${state}`;
  return [
    `<text x="${8 + depth * indent}" y="${y}">${safeText(shortened(label, MAX_LABEL))}</text>`,
    `<rect class="${tone}" x="${x}" y="${y - 13}" width="${wide}" height="16" rx="2"><title>${safeText(`${label}: ${state}, ${time}`)}</title></rect>`,
    `<text class="dim" x="${rounded(x + wide + 6)}" y="${y - 1}">${safeText(shortened(info, MAX_INFO))}</text>`,
  ].join("");
}

const rounded = (value: number): number => Number(value.toFixed(1));

/** Escaped text, without control characters and changes of direction. */
const safeText = (text: string): string =>
  escapeXml(text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "\u{FFFD}"));
