import { appendFileSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { randomBytes } from "node:crypto";

/**
 * Replaces a settings file through conf: atomically, readable by its owner only.
 *
 * conf writes the new file in a directory beside the old one, from where it is renamed into place,
 * because on its own conf
 * - puts a truncated file into place on a full disk: it ignores short writes;
 * - does not write atomically if $SNAP is set, as in each terminal of a snap;
 * - leaves its temporary file behind if it fails and the process exits at once.
 * After the import everything is synchronous, so no signal can interrupt it.
 */
export async function writeSettings(path: string, value: object): Promise<void> {
  const { default: Conf } = await import("conf");
  const text = `${JSON.stringify(value, null, "\t")}\n`;
  const directory = `${path}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    mkdirSync(directory, { mode: 0o700 });
    const conf = new Conf({ cwd: directory, configFileMode: 0o600, serialize: () => text });
    conf.store = { ...value };
    // Completes a short write, or throws its reason: "disk full", "file too large".
    const missing = Buffer.from(text).subarray(statSync(conf.path).size);
    appendFileSync(conf.path, missing, { flush: true });
    renameSync(conf.path, path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
