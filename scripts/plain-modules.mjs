// Makes what other programs import plain ES modules, since other bundlers fail on the helpers that a bundler adds for
// anything else: CommonJS files and namespaces as values.
const inPackage = /[\\/]undici[\\/]lib[\\/].+\.js$/;
const isReplaced = /^\0replaced-\d\.js$/;
const entry = "\0entry:";
const namespace = /^import \* as (\w+) from "(\.[^"]+)";$/m;

/** A plugin of rolldown. ES modules get `module.exports` of a CommonJS file as its default export. */
export const plainModules = {
  name: "plain-modules",
  resolveId: (id) => (id.startsWith("undici/lib/") ? entry + id : null),
  async load(id) {
    if (!id.startsWith(entry)) return null;
    const { id: path } = await this.resolve(id.slice(entry.length), import.meta.filename, {
      skipSelf: true,
    });
    return `import { load } from ${JSON.stringify(path)};\nexport default load();`;
  },
  async transform(code, id) {
    if (id.startsWith(entry)) return null;
    if (inPackage.test(id) || isReplaced.test(id))
      return { code: asFunction(code), moduleType: "js", map: null };
    if (!namespace.test(code)) return null;
    const namesIn = async (path) => {
      const { id: file } = await this.resolve(path, id);
      return (await this.load({ id: file })).exports.join(", ");
    };
    return { code: await withoutNamespaces(code, namesIn), moduleType: "ts", map: null };
  },
};

/**
 * The code of a CommonJS file as a function that runs it on its first call: files may require each other in a circle,
 * and those that are not needed do not run. `require("./x")` is a call of the function of `./x`, and what Node.js has
 * built in is asked for where it is used, as before.
 */
function asFunction(code) {
  const required = [];
  const body = code.replace(/\brequire\((["'])([^"']+)\1\)/g, (_, quote, id) => {
    if (id.startsWith("node:")) return `process.getBuiltinModule("${id}")`;
    const known = required.indexOf(id);
    return `load${known < 0 ? required.push(id) - 1 : known}()`;
  });
  return `${required.map((id, at) => `import { load as load${at} } from "${id}";`).join("\n")}
let own;
export function load() {
  if (own === undefined) {
    own = { exports: {} };
    run(own, own.exports);
  }
  return own.exports;
}
function run(module, exports) {
${body}
}
`;
}

/** `import * as tags from "./tags.ts"` as an object of what that file exports. */
async function withoutNamespaces(code, namesIn) {
  let changed = code;
  for (const [line, name, path] of code.matchAll(new RegExp(namespace, "gm"))) {
    const names = await namesIn(path);
    const object = `import { ${names} } from "${path}";\nconst ${name} = { ${names} };`;
    changed = changed.replace(line, object);
  }
  return changed;
}
