import type { Context } from "../../task/command-spec.ts";
import bash from "./kb.bash?raw";
import fish from "./kb.fish?raw";
import powershell from "./kb.ps1?raw";
import zsh from "./kb.zsh?raw";

const scripts = { bash, zsh, fish, powershell };

/**
 * The task that prints the script of a shell for the current program. Every script calls back
 * `kb __complete -- <words>` with the words up to the cursor, unquoted, and quotes the candidates. No
 * script evaluates the line: a name may contain `$(…)`.
 */
export const printScript = (shell: keyof typeof scripts) => ({
  async *run(_: unknown, { options }: Context): AsyncGenerator<string> {
    yield scripts[shell].replaceAll("kb", options.program).trimEnd();
  },
});
