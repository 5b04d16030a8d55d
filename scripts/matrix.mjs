// Installs the package on every supported Node.js version, globally, offline and from an empty directory,
// then runs the tour. `npm run test:matrix`, or with versions: `npm run test:matrix -- 20 24`.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { cachedPackage, npm, run } from "./npm-package.mjs";
import { prepare, root } from "./prepare.mjs";

const wanted = process.argv.length > 2 ? process.argv.slice(2) : ["20.19", "20", "22", "24", "26"];
const npmScript = process.env.npm_execpath;
if (npmScript === undefined) {
  console.error("npm run test:matrix");
  process.exit(2);
}

prepare();
const folder = mkdtempSync(join(tmpdir(), "kb-wf-matrix-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Returns the binary of a Node.js version, from the npm package `node`; cached between runs. */
const nodeOf = (version) => join(cachedPackage("node", version), "bin", "node");

npm(["pack", "--pack-destination", folder], { cwd: root });
const tarball = join(
  folder,
  readdirSync(folder).find((name) => name.endsWith(".tgz")),
);

let failed = 0;
for (const version of wanted) {
  try {
    const node = nodeOf(version);
    const place = mkdtempSync(join(folder, `${version}-`));
    const prefix = join(place, "prefix");
    const empty = join(place, "empty");
    mkdirSync(empty);
    const environment = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
    const install = ["install", "--global", "--offline", "--prefix", prefix];
    run(
      "the installation",
      node,
      [npmScript, ...install, "--cache", join(place, "cache"), tarball],
      {
        cwd: empty,
        env: environment,
      },
    );
    readFileSync(join(prefix, "share", "man", "man1", "kb-doc.1"));
    const named = run("kb --version", join(prefix, "bin", "kb"), ["--version"], {
      cwd: empty,
      env: environment,
    });
    const installed = join(prefix, "lib", "node_modules", "kb-wf");
    const tour = [join(root, "scripts", "start.mjs"), "--package", installed];
    const shown = run("the tour", node, tour, { cwd: root, env: environment });
    // Warnings of Node.js about our code are for us, never for users.
    const warning = /^\(node:\d+\).*$/m.exec(shown)?.[0];
    if (warning) throw new Error(`Node warns: ${warning}`);
    console.log(`${version.padEnd(6)} passed  ${named}`);
  } catch (error) {
    failed++;
    console.log(`${version.padEnd(6)} failed  ${error.message}`);
  }
}
console.log(`${wanted.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
