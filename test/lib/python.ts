import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { temporaryDirectory } from "./support.ts";

/** Installs packages of PyPI into an environment of their own; returns the directory of its programs. */
export async function pythonWith(...packages: readonly string[]): Promise<string> {
  const environment = await temporaryDirectory();
  execFileSync("python3", ["-m", "venv", environment]);
  const programs = join(environment, "bin");
  execFileSync(join(programs, "pip"), ["install", "--quiet", ...packages], { stdio: "ignore" });
  return programs;
}
