// A .deb of the single file: kb and wf in /usr/bin, their manual pages, completion, changes and licenses.
import {
  chmodSync,
  copyFileSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { run } from "../npm-package.mjs";

const architectures = { x64: "amd64", arm64: "arm64" };

/** Builds the package into `target`, from the files that it lays out in `folder`. */
export function debianPackage(
  { name, version, description, epoch },
  { program, folder, target, root },
) {
  const architecture = architectures[process.arch];
  const bin = join(folder, "usr", "bin");
  const share = join(folder, "usr", "share");
  const doc = join(share, "doc", name);
  for (const each of [bin, doc, join(folder, "DEBIAN")])
    mkdirSync(each, { recursive: true, mode: 0o755 });
  copyFileSync(program, join(bin, "kb"));
  symlinkSync("kb", join(bin, "wf"));
  const zipped = (from, to) => {
    mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
    writeFileSync(`${to}.gz`, gzipSync(readFileSync(from), { level: 9 }));
  };
  for (const page of readdirSync(join(root, "docs", "man")))
    zipped(join(root, "docs", "man", page), join(share, "man", `man${page.at(-1)}`, page));
  zipped(join(root, "CHANGELOG.md"), join(doc, "changelog"));
  for (const each of ["kb", "wf"])
    for (const [shell, to] of [
      ["bash", `bash-completion/completions/${each}`],
      ["zsh", `zsh/vendor-completions/_${each}`],
      ["fish", `fish/vendor_completions.d/${each}.fish`],
    ]) {
      mkdirSync(join(share, dirname(to)), { recursive: true, mode: 0o755 });
      const script = run(`${each} completion`, join(bin, each), ["completion", shell]);
      writeFileSync(join(share, to), `${script}\n`);
    }
  // Those of Node.js, too, which the single file contains.
  writeFileSync(join(doc, "copyright"), `${run("kb --licenses", program, ["--licenses"])}\n`);
  const control = `Package: ${name}
Version: ${version}
Architecture: ${architecture}
Maintainer: The authors of kb-wf <noreply@localhost>
Depends: ${librariesOf(program)}
Section: utils
Priority: optional
Description: ${description.replace(/:.*/s, "")}
 ${description.replace(/(.{1,78})(?: |$)/g, "$1\n ").trimEnd()}
`;
  writeFileSync(join(folder, "DEBIAN", "control"), control);
  setModes(folder, epoch);
  chmodSync(join(bin, "kb"), 0o755);
  const file = join(target, `${name}_${version}_${architecture}.deb`);
  // It takes the times of SOURCE_DATE_EPOCH for its own members, and those of the files.
  run("dpkg-deb", "dpkg-deb", ["--root-owner-group", "-Zxz", "--build", folder, file]);
}

/** Debian's packages of the libraries that the program is linked with. */
function librariesOf(program) {
  const needed = run("readelf", "readelf", ["--version-info", program]);
  const newest = (prefix) =>
    [...needed.matchAll(new RegExp(`Name: ${prefix}_([\\d.]+)`, "g"))]
      .map(([, found]) => found)
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
      .at(-1);
  // GLIBCXX_3.4.21 came with GCC 5.1 (the ABI policy of libstdc++), whose version its package has.
  if (newest("GLIBCXX") !== "3.4.21")
    throw new Error(`libstdc++ with GLIBCXX_${newest("GLIBCXX")}`);
  return `libc6 (>= ${newest("GLIBC")}), libstdc++6 (>= 5.1.1), libgcc-s1`;
}

/** Gives the folder and all its files the modes of an installed system and the time of the release. */
function setModes(folder, time) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isSymbolicLink()) lutimesSync(path, time, time);
    else {
      chmodSync(path, entry.isDirectory() ? 0o755 : 0o644);
      utimesSync(path, time, time);
    }
  }
  chmodSync(folder, 0o755);
  utimesSync(folder, time, time);
}
