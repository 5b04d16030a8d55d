// Replaces the same modules as the bundle does, in packages that Node.js loads itself. Others: vitest.config.mjs.
import Module from "node:module";
import { replaced, replacedAt } from "../../scripts/replaced.mjs";
import * as widths from "../../src/output/text-width.ts";

type Load = (id: string, parent?: { readonly filename?: string }, isMain?: boolean) => unknown;
const loader = Module as unknown as { _load: Load & { readonly replaces?: true } };

if (!loader._load.replaces) {
  const load = loader._load;
  const replacing: Load = (id, parent, isMain) => {
    const [, , code] = replaced[replacedAt(id, parent?.filename)] ?? [];
    if (code === undefined) return load(id, parent, isMain);
    return new Function("require", `return ${code}`)(() => widths) as unknown;
  };
  loader._load = Object.assign(replacing, { replaces: true as const });
}
