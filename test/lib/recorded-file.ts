import { writeFile } from "node:fs/promises";
import { exchanges } from "./recordings.ts";

/** The chunks of the recorded stream with this title. */
function chunksOf(title: string) {
  const found = exchanges.find(({ name }) => /^streams.*?: (.*)/.exec(name)?.[1] === title);
  if (!found?.response.chunks) throw new Error(`no recording ${title}`);
  return found.response.chunks;
}

/** Each event of a recorded stream, with the second at which it was received. */
export const timedEvents = (title: string): readonly (readonly [seconds: number, raw: string])[] =>
  chunksOf(title).flatMap(([seconds, text]) =>
    text
      .split("\n")
      .flatMap((line) => (line.startsWith("data: ") ? [[seconds, line.slice(6)] as const] : [])),
  );

/**
 * Writes a recorded stream in the format of `--record`, with its original times. `startedAt`
 * is the Unix second of its first event.
 */
export async function recordedFile(
  path: string,
  title: string,
  { startedAt = 1_795_219_600, change = (raw: string) => raw, end = "" } = {},
): Promise<string> {
  const events = timedEvents(title);
  const [first = 0] = events[0] ?? [];
  const lines = events.map(
    ([seconds, raw]) => `{"at":${Math.round((seconds - first) * 1000)},"event":${change(raw)}}\n`,
  );
  const head = {
    recording: 1,
    program: "wf",
    started_at: new Date(startedAt * 1000).toISOString(),
  };
  await writeFile(path, `${JSON.stringify(head)}\n${lines.join("")}${end}`);
  return path;
}
