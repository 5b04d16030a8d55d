import { own } from "../../../lib/json.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { Filling } from "../../command-rules.ts";

/** The five types that the server accepts, by name, whatever the content is (server §18). */
const mediaTypes: Readonly<Record<string, string>> = {
  mp3: "audio/mp3",
  m4a: "audio/m4a",
  wav: "audio/wav",
  amr: "audio/amr",
  mpga: "audio/mpga",
};

/** The file with the media type that the server expects for the extension of its name. */
export async function fillAudio({ resolved }: Filling): Promise<Readonly<Record<string, unknown>>> {
  const known = await resolved();
  const file = known["file"] as FileInput; // required
  const extension = /\.([^./\\]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? "";
  return { ...known, file: { type: own(mediaTypes, extension), ...file } };
}
