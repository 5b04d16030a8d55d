import { profilePath } from "../../../config/profiles.ts";
import type { Setting } from "../../../config/profiles.ts";
import { consoleSetting, settingsFor } from "../../../config/settings.ts";
import { maskKey } from "../../../redact/keys.ts";
import type { Context } from "../../task/command-spec.ts";

/** `config explain`: every setting, its value (keys masked) and its source. */
export async function* run(_: unknown, { host, options }: Context): AsyncGenerator<object> {
  const settings = await settingsFor(options.flags, host, {
    // As for other commands, the profile is not read if the environment sets everything.
    key: options.program === "kb" ? "dataset" : "app",
    run: false,
  });
  const row = (setting: string, { value, source }: Setting<string | boolean>) => ({
    setting,
    value: value === undefined ? null : String(value),
    source,
  });
  // The row of the application names it, so the source of its key need not.
  const masked = ({ value, source }: Setting): Setting => ({
    value: value === undefined ? undefined : maskKey(value),
    source: source.replace(`, application ${settings.app.value}`, ""),
  });
  yield row("profile", settings.profile);
  yield row("base URL", settings.baseUrl);
  yield row("knowledge key", masked(settings.knowledgeKey));
  yield row("application", settings.app);
  yield row("application key", masked(settings.appKey));
  yield row("end user", settings.user);
  yield row("output", settings.output);
  yield row("read only", settings.readOnly);
  yield row("web console", consoleSetting(settings));
  yield row("profile file", { value: profilePath(host), source: "folder" });
  for (const [name, path] of Object.entries(host.directories)) {
    const variable = `KB_${name.toUpperCase()}_DIR`;
    const source = host.env[variable] ? variable : "built-in";
    // Scripts select rows by these names, so they keep the word of version 0.1.0.
    yield row(`${name} folder`, { value: path, source });
  }
}
