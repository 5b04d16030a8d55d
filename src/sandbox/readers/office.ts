import { type Archive, linkedPath, textAt } from "./archive.ts";
import { UnreadableFile } from "./limits.ts";
import { walkXml } from "./markup.ts";

/** A link between the files of an Office document. */
interface Relation {
  readonly id: string;
  /** Such as `worksheet`. */
  readonly kind: string;
  readonly path: string;
}

/** The links of a file in an Office document; those of the document itself with the path "". */
export function relationsOf(archive: Archive, path: string): readonly Relation[] {
  const relations: Relation[] = [];
  const slash = path.lastIndexOf("/") + 1;
  const source = archive.get(`${path.slice(0, slash)}_rels/${path.slice(slash)}.rels`) ?? "";
  walkXml(source, {
    open(name, { Id: id = "", Type: type = "", Target: target = "", TargetMode: mode }) {
      if (name !== "Relationship" || mode === "External") return;
      relations.push({ id, kind: type.split("/").pop() ?? "", path: linkedPath(path, target) });
    },
  });
  return relations;
}

/** The path of the main file of an Office document. */
export function mainPath(archive: Archive): string {
  const main = relationsOf(archive, "").find(({ kind }) => kind === "officeDocument");
  if (!main) throw new UnreadableFile("it is not an Office document");
  return main.path;
}

/** The files that the elements of this name in the file at `path` refer to, in their order; each once. */
export function linkedParts(archive: Archive, path: string, element: string): string[] {
  const targets = new Map(relationsOf(archive, path).map((each) => [each.id, each.path]));
  const parts = new Set<string>();
  walkXml(textAt(archive, path), {
    open(name, attributes) {
      if (name !== element) return;
      // Such as `r:id`, whatever the prefix is.
      const [, id = ""] = Object.entries(attributes).find(([each]) => each.endsWith(":id")) ?? [];
      const part = targets.get(id);
      if (part !== undefined) parts.add(part);
    },
  });
  return [...parts];
}
