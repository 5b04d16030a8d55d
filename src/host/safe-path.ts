import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { CliError } from "../errors.ts";
import type { Files } from "./host.ts";

/** Control and bidi characters, halves of pairs, and what some system gives a meaning. */
const unfit = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}<>:"|?*]/gu;

/** Names that Windows keeps for devices, whatever follows their dot. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)\s*(?:\.|$)/i;

/** Bytes of one step: disks take 255, and a number and the end of a temporary name come on top. */
const longestStep = 200;

/**
 * A path below a folder, with `/`, whatever a document is called: what leads up or elsewhere is left
 * out, and what no disk takes is replaced. A safe path stays as it is.
 */
export function safePath(name: string): string {
  const steps = name
    .split(/[/\\]/)
    .map((step) => fitting(trimmed(step.replace(unfit, "_"))))
    .filter((step) => step !== "");
  return steps.join("/") || "document";
}

/** Windows drops dots and blanks at the end; `.` and `..` are no names. */
const trimmed = (step: string): string => step.replace(/(?<![\s.])[\s.]+$/, "").trimStart();

/** No device, and cut to what has room; what was cut may be a device again. */
const fitting = (step: string): string => noDevice(shortened(noDevice(step)));

const noDevice = (step: string): string => (device.test(step) ? `_${step}` : step);

function shortened(step: string): string {
  if (Buffer.byteLength(step) <= longestStep) return step;
  const [stem, end] = parted(step);
  const ending = Buffer.byteLength(end) <= longestStep / 4 ? end : "";
  return trimmed(startOf(stem, longestStep - Buffer.byteLength(ending))) + ending;
}

/** As many whole characters as have room in so many bytes. */
function startOf(text: string, bytes: number): string {
  let [start, room] = ["", bytes];
  for (const character of text) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    start += character;
  }
  return start;
}

/** Name and ending: `a` and `.md`. */
function parted(step: string): readonly [stem: string, end: string] {
  const dot = step.lastIndexOf(".");
  return dot > 0 ? [step.slice(0, dot), step.slice(dot)] : [step, ""];
}

/** Is it a path below a folder, on every system? */
export const isBelow = (path: string): boolean =>
  !/[\\:\0]/.test(path) && path.split("/").every((step) => !/^\.{0,2}$/.test(step));

/**
 * `a.md`, then `a (1).md`: no path names the file of another one, be it that they differ in case or
 * Unicode form only, and none goes through a file. `taken` is added to.
 */
export function unique(path: string, taken: Set<string>): string {
  const steps = path.split("/");
  let place = "";
  for (const [index, step] of steps.entries()) {
    const [stem, end] = parted(step);
    const isFile = index === steps.length - 1;
    const isTaken = (as: string) =>
      taken.has(folded(as)) || (isFile && taken.has(folded(`${as}/`)));
    let candidate = place + step;
    for (let number = 1; isTaken(candidate); number++)
      candidate = `${place}${stem} (${number})${end}`;
    place = isFile ? candidate : `${candidate}/`;
    taken.add(folded(place));
  }
  return place;
}

const folded = (path: string): string => path.normalize("NFC").toLowerCase();

/** Is a place a folder or below it? Both without links. */
export function isInside(folder: string, place: string): boolean {
  const way = relative(folder, place);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Where a path below a folder lies, which has to be there. Throws usage where a link on the way
 * leads out of the folder.
 */
export async function placeIn(folder: string, path: string, files: Files): Promise<string> {
  const root = await files.realPath(folder);
  const place = join(folder, path);
  let real: string | undefined;
  for (let at = place; real === undefined; at = dirname(at)) real = await realOf(at, files);
  if (!isInside(root, real)) {
    throw new CliError("usage", `${place} is a link that leads out of ${folder}`, {
      hint: "take the link away, or choose another folder",
    });
  }
  return place;
}

/** The same for a file that is to be written; the folders on the way are made. */
export async function newPlaceIn(folder: string, path: string, files: Files): Promise<string> {
  await files.makeDirectory(folder);
  await files.makeDirectory(await placeIn(folder, dirname(path), files));
  return join(folder, path);
}

/** Undefined where nothing is. */
async function realOf(path: string, files: Files): Promise<string | undefined> {
  try {
    return await files.realPath(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
