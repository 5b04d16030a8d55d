// The single executable, compared with the package on the same version of Node.js: both in turn.
import { statSync } from "node:fs";
import { join } from "node:path";
import { here, nodeFor, nodeVersion } from "../binary/node.mjs";
import { npm } from "../npm-package.mjs";
import { root } from "../prepare.mjs";
import { clean, inTurn, kb, openSandbox, result } from "./tools.mjs";

export async function binary() {
  npm(["run", "-s", "build:binary"], { cwd: root });
  const executable = join(root, "binary", here, "kb");
  const node = nodeFor(here).program;
  result("size of the executable", statSync(executable).size / 1e6, "MB");
  result("of these, Node.js", statSync(node).size / 1e6, "MB");
  // Node.js reads extra certificate authorities at each start.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = clean;
  const { address, stop } = await openSandbox();
  const direct = { ...env, KB_BASE_URL: address.base_url, KB_KEY: address.key };
  const bare = await inTurn({ program: node, args: ["-e", "0"], env });
  result(`node -e 0, version ${nodeVersion}`, bare.first, "ms");
  for (const args of [["--version"], ["create", "A", "--dry-run"], ["list"]]) {
    const { first, second, ratio } = await inTurn(
      { program: node, args: [kb, ...args], env: direct },
      { program: executable, args, env: direct },
    );
    result(`package, kb ${args.join(" ")}`, first, "ms");
    result(`executable, kb ${args.join(" ")}`, second, "ms");
    result("of the package's time", 100 * ratio, "%", { atMost: 100 });
  }
  await stop();
}
