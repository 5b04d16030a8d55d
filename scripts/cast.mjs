// Draws docs/images/cast.svg, a session of the programs at a terminal; with `pages`, takes pictures of pages instead.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { imported } from "./built-sources.mjs";
import { drawPages } from "./cast/pages.mjs";
import { prepare, root } from "./prepare.mjs";

prepare();
const [{ readSession, playSession }, { drawCast }] = await imported("cast/session", "cast/drawing");
const images = join(root, "docs", "images");
mkdirSync(images, { recursive: true });
const session = readSession(root);
if (process.argv[2] === "pages") {
  drawPages(root, session, images);
} else {
  const frames = await playSession(root, { key: 40, second: 1000 });
  const svg = drawCast(
    frames,
    session,
    "kb syncs documents; wf answers a paused run and runs tests",
  );
  writeFileSync(join(images, "cast.svg"), svg);
  console.log(`docs/images/cast.svg: ${Math.ceil(svg.length / 1000)} kB, ${frames.length} frames`);
}
