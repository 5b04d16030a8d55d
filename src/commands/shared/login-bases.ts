import { parseKnowledgeBases } from "../../config/settings.ts";
import { CliError, usage } from "../../errors.ts";
import { commandLine } from "../../lib/command-line.ts";
import type { Context } from "../command-spec.ts";
import { readKnowledgeBases } from "./key-check.ts";
import type { KeyReport } from "./key-check.ts";
import { askUntilAccepted } from "./login-prompt.ts";

/** Knowledge bases: IDs by name. */
type Bases = Readonly<Record<string, string>>;

/** A key that is valid, but may not list knowledge bases: it opens only some of them. */
interface BoundKey {
  /** Name of the profile. */
  readonly name: string;
  readonly target: { readonly baseUrl: string; readonly key: string };
  readonly version: string | undefined;
  /** Knowledge bases of --kb. */
  readonly named: Bases;
  /** Knowledge bases of the profile. */
  readonly stored: Bases;
}

/**
 * What such a key opens: of the knowledge bases that are named or stored, or else of those that are
 * asked for. Throws auth if it opens none of them.
 */
export async function examineBoundKey(
  { name, target, version, named, stored }: BoundKey,
  context: Context,
): Promise<{ readonly report: KeyReport; readonly bases: Bases }> {
  const ids = [...new Set(Object.values({ ...stored, ...named }))];
  const { size } = await readKnowledgeBases(ids, target, context);
  const some = "opens only some knowledge bases";
  if (size > 0) {
    const opens = `${some}: ${size} of the ${ids.length} named`;
    return { report: { version, opens }, bases: named };
  }
  const asked = context.options.input ? await askForBases(target, context) : {};
  const names = Object.keys(asked);
  if (names.length > 0) {
    return { report: { version, opens: `${some}: ${names.join(", ")}` }, bases: asked };
  }
  if (ids.length > 0) {
    throw new CliError("auth", "the key opens none of the knowledge bases named", {
      sideEffect: "none",
      hint: "check their IDs: they are in the addresses of the web console",
    });
  }
  const later = commandLine("kb login", [name], { kb: "NAME=ID" });
  const opens = `${some} and cannot list them; name them with ${later}`;
  return { report: { version, opens }, bases: named };
}

/** Asks for the IDs of knowledge bases until the key opens them all; empty for none. IDs by name. */
async function askForBases(
  target: BoundKey["target"],
  context: Context,
): Promise<Readonly<Record<string, string>>> {
  await context.notice(
    "the key is valid, but opens only some knowledge bases and cannot list them",
  );
  const asked = await askUntilAccepted(
    {
      text: "Their IDs, separated by commas (Enter to name them later)",
      async accept(reply) {
        const named = Object.entries(parseKnowledgeBases(reply) ?? {});
        const ids = named.map(([, id]) => id);
        const opened = await readKnowledgeBases(ids, target, context);
        const closed = ids.filter((id) => !opened.has(id));
        if (closed.length > 0) throw usage(`the key does not open ${closed.join(", ")}`);
        return Object.fromEntries(
          named.map(([name, id]) => [name === id ? (opened.get(id) ?? id) : name, id]),
        );
      },
    },
    context,
  );
  return asked ?? {};
}
