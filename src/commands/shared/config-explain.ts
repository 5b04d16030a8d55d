import { masked, settingsFor } from "../../config/settings.ts";
import type { Setting } from "../../config/settings.ts";
import { profilePath } from "../../config/profiles.ts";
import type { Context } from "../command-spec.ts";

/** One setting and where it came from. */
interface Explained {
  readonly setting: string;
  readonly value: string | null;
  readonly source: string;
}

/** Every setting, its value (keys masked) and its source. */
export async function* run(_: unknown, context: Context): AsyncGenerator<Explained> {
  const { host, options: asked } = context;
  const settings = await settingsFor(asked.flags, host, {
    // The same rule as for commands: a complete environment leaves the profile unread.
    key: asked.program === "kb" ? "dataset" : "app",
    run: false,
  });
  const line = (setting: string, { value, source }: Setting<string | boolean>): Explained => ({
    setting,
    value: value === undefined ? null : String(value),
    source,
  });
  const secret = ({ value, source }: Setting): Setting => ({
    value: value === undefined ? undefined : masked(value),
    source,
  });
  yield line("profile", settings.profile);
  yield line("base URL", settings.baseUrl);
  yield line("knowledge key", secret(settings.knowledgeKey));
  yield line("application", settings.app);
  yield line("application key", secret(settings.appKey));
  yield line("end user", settings.user);
  yield line("output", settings.output);
  yield line("read only", settings.readOnly);
  yield line("profile file", { value: profilePath(host), source: "folder" });
  for (const [name, path] of Object.entries(host.directories)) {
    const variable = `KB_${name.toUpperCase()}_DIR`;
    yield line(`${name} folder`, {
      value: path,
      source: host.env[variable] ? variable : "built-in",
    });
  }
}
