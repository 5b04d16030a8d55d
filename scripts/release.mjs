// `npm run release [-- DIRECTORY]` builds what a release consists of, into `release` unless another directory is named:
// the npm package, one file for this system, a .deb of it (on Linux with dpkg-deb), a bundle for MCP clients, the list
// of what is inside (SBOM), an installer, and SHA256SUMS. Times are those of SOURCE_DATE_EPOCH (default: the commit), so
// that the package, the .deb and the SBOM have the same bytes when they are built again.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { here, nodeVersion } from "./binary/node.mjs";
import { npm, run } from "./npm-package.mjs";
import { prepare, root } from "./prepare.mjs";
import { debianPackage } from "./release/debian.mjs";
import { mcpBundle } from "./release/mcp-bundle.mjs";
import { sbom } from "./release/sbom.mjs";

const [directory = join(root, "release"), ...others] = process.argv.slice(2);
if (directory.startsWith("-") || others.length > 0) {
  const isAsked = directory === "--help" || directory === "-h";
  console[isAsked ? "log" : "error"]("usage: npm run release [-- DIRECTORY]");
  process.exit(isAsked ? 0 : 2);
}
const target = resolve(directory);
const { name, version, description, license } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);

/** Seconds since the epoch that files of the release have. */
const epoch =
  process.env.SOURCE_DATE_EPOCH ??
  run("git log", "git", ["log", "-1", "--format=%ct"], { cwd: root });
process.env.SOURCE_DATE_EPOCH = epoch;
process.umask(0o022); // the modes of what is built become a part of the package

prepare();
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const about = { name, version, description, license, epoch: Number(epoch) };

npm(["pack", "--pack-destination", target, "--silent"], { cwd: root });
const bundled = readFileSync(join(root, "dist", "LICENSES.txt"), "utf8");
const list = sbom({ ...about, node: nodeVersion }, bundled);
writeFileSync(join(target, `${name}-${version}.cdx.json`), list);

run("build:binary", process.execPath, [join(root, "scripts", "binary.mjs")]);
const single = join(root, "binary", here);
const suffix = process.platform === "win32" ? ".exe" : "";
copyFileSync(join(single, `kb${suffix}`), join(target, `${name}-${version}-${here}${suffix}`));

const folder = mkdtempSync(join(tmpdir(), "kb-wf-release-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const hasDpkg = process.platform === "linux" && spawnSync("dpkg-deb", ["--version"]).status === 0;
if (hasDpkg)
  debianPackage(about, { program: join(single, "kb"), folder: join(folder, "deb"), target, root });
else console.error("no .deb: dpkg-deb is not installed");

// The files of the package, without what only people read.
const content = join(folder, "package");
const tarball = readdirSync(target).find((file) => file.endsWith(".tgz"));
run("tar", "tar", ["-xzf", join(target, tarball), "-C", folder]);
writeFileSync(join(target, `${name}-${version}.mcpb`), mcpBundle(about, content));

copyFileSync(join(root, "scripts", "release", "install.sh"), join(target, "install.sh"));
const sums = readdirSync(target)
  .sort()
  .map((file) => {
    const hash = createHash("sha256")
      .update(readFileSync(join(target, file)))
      .digest("hex");
    return `${hash}  ${file}\n`;
  });
writeFileSync(join(target, "SHA256SUMS"), sums.join(""));
console.log(sums.join("").trimEnd());
