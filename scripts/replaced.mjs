// Modules that packages import, and what they get instead: in the bundle and in the tests (test/lib/replaced-setup.ts).
import { fileURLToPath } from "node:url";

const widths = fileURLToPath(new URL("../src/output/text-width.ts", import.meta.url));

/** The name of a module, the file that imports it, and what that gets. At most four: a test counts them. */
export const replaced = [
  // We send HTTP/1.1: HTTP/2, TLS and cryptography would be loaded for plain HTTP as well, 30 ms.
  ["./client-h2.js", "/undici/lib/dispatcher/client.js", "() => { throw Error('HTTP/2'); }"],
  // For subcommands that are separate programs, it loads sockets and streams at each start: 5 ms, twice that on
  // a busy machine.
  ["node:child_process", "/commander/lib/command.js", "{}"],
  // It listens to twenty signals from its import on, and raises each one again: Ctrl-C would count twice, and a
  // limit on the size of files would kill the process. src/host/node-files.ts removes temporary files itself.
  ["when-exit", "/atomically/dist/utils/temp.js", "() => {}"],
  // Its old version gets the widths of new characters wrong, and takes 15 ms for a table.
  ["string-width", "/cli-table3/src/utils.js", `require(${JSON.stringify(widths)}).widthOf`],
];

/** The place in the table of a module that a file imports; -1 if it is not replaced. */
export const replacedAt = (id, importer) => {
  const file = importer?.replaceAll("\\", "/") ?? "";
  return replaced.findIndex(([name, by]) => id === name && file.endsWith(by));
};

/**
 * A plugin of rolldown and Vite that replaces the modules. The build fails if one of them is not imported exactly once.
 * Modules of the kind `js` may become ES modules.
 */
export function replacedModules(expected = replaced, kind = "cjs") {
  const counts = replaced.map(() => 0);
  return {
    name: "replaced-modules",
    enforce: "pre", // in the tests, before Vite resolves them
    buildStart() {
      counts.fill(0);
    },
    resolveId(id, importer) {
      const at = replacedAt(id, importer);
      if (at < 0) return null;
      counts[at]++;
      return `\0replaced-${at}.${kind}`;
    },
    load(id) {
      const [, at] = /^\0replaced-(\d)\.c?js$/.exec(id) ?? [];
      return at === undefined ? null : `module.exports = ${replaced[at][2]};`;
    },
    generateBundle() {
      for (const entry of expected) {
        const count = counts[replaced.indexOf(entry)];
        if (count !== 1) throw new Error(`${entry[0]} is imported ${count} times by ${entry[1]}`);
      }
    },
  };
}
