import { createHash } from "node:crypto";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, reasonOf } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { parseBytes, formatBytes } from "../../../lib/bytes.ts";
import { walkFiles } from "../sync/walk.ts";
import type { FolderFile, Obstacle } from "../sync/walk.ts";
import { contentProblems, findings, kindProblems } from "./checks.ts";
import type { Problem } from "./checks.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb lint`. */
export interface LintInput {
  readonly directory: string;
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
  readonly max_size?: string | undefined;
  readonly strict?: boolean | undefined;
}

/** One finding about one file. */
interface Row extends Problem {
  readonly severity: "error" | "warning";
  /** Path from the folder on. */
  readonly file: string;
}

/** Largest upload that a server takes when nobody set another (server §9.3). */
const usualSize = 15 * 2 ** 20;
/** Characters of a name; the server cuts what is longer (server §9.1). */
const longestName = 200;
/** Files that are read at a time. */
const lanes = 8;

/**
 * What would go wrong with the files of a folder when they become documents. Nothing is sent. Throws
 * `gate` as a verdict when there are errors, with `strict` also for warnings.
 */
export async function* run(input: LintInput, context: Context): AsyncGenerator<Row> {
  const { files } = context.host;
  const most = input.max_size === undefined ? usualSize : parseBytes("--max-size", input.max_size);
  const found: (FolderFile | Obstacle)[] = [];
  for await (const each of walkFiles(input.directory, input, files)) {
    if (context.signal.aborted) throw context.abortError();
    if (each.kind !== "left-out") found.push(each);
  }
  const names = new Map<string, string>();
  const contents = new Map<string, string>();
  const counts = { error: 0, warning: 0 };

  const look = async (each: FolderFile | Obstacle) => {
    if (context.signal.aborted) throw context.abortError();
    return looked(each, most, files);
  };
  const rows: Row[] = [];
  let done = 0;
  for await (const { each, problems, hash } of mapConcurrent(found, lanes, look)) {
    context.progress({ done: ++done, total: found.length, unit: "files" });
    const { path } = each;
    const all = [...nameProblems(path, names)];
    if (each.kind === "file") all.push(...kindProblems(path));
    all.push(...problems);
    const isEmpty = problems.some(({ finding }) => finding === "empty");
    const twin = hash === undefined || isEmpty ? undefined : contents.get(hash);
    if (twin !== undefined) {
      all.push({
        finding: "duplicate",
        problem: `it holds the same as ${twin}, so searches find both`,
        fix: "keep one of them",
      });
    } else if (hash !== undefined) contents.set(hash, path);
    for (const { finding, problem, fix } of all) {
      const severity = findings[finding];
      counts[severity]++;
      rows.push({ severity, file: path, finding, problem, fix });
    }
  }

  // At once, so that columns are as wide as all of them need.
  yield* rows;
  const { error: errors, warning: warnings } = counts;
  const info = `${counted(found.length, "file")}: ${counted(errors, "error")}, ${counted(warnings, "warning")}`;
  if (errors === 0 && (warnings === 0 || !input.strict)) return context.notice(info);
  throw new CliError("gate", info, {
    isResult: true,
    details: { files: found.length, errors, warnings },
  });
}

/** What a file holds that is wrong, and a sum over its bytes where they were read. */
async function looked(
  each: FolderFile | Obstacle,
  most: number,
  files: Files,
): Promise<{
  readonly each: FolderFile | Obstacle;
  readonly problems: readonly Problem[];
  readonly hash?: string;
}> {
  if (each.kind !== "file") return { each, problems: [obstacleProblem(each)] };
  if (each.size > most) return { each, problems: [tooLarge(each.size, most)] };
  let bytes: Uint8Array;
  try {
    bytes = await files.read(each.place);
  } catch (error) {
    const unreadable = { ...each, kind: "unreadable", reason: reasonOf(error) } as const;
    return { each, problems: [obstacleProblem(unreadable)] };
  }
  const hash = createHash("sha256").update(bytes).digest("base64");
  return { each, problems: await contentProblems(each.path, bytes), hash };
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function tooLarge(size: number, most: number): Problem {
  const [has, takes] = [formatBytes(size), formatBytes(most)];
  const info =
    has === takes ? `${size} bytes, more than the ${most}` : `${has}, more than the ${takes}`;
  return {
    finding: "size",
    problem: `it has ${info} that a server takes`,
    fix: "split it, or give the server's own limit by --max-size",
  };
}

function obstacleProblem({ kind, reason }: Obstacle): Problem {
  const fix = "repair it, or leave it out by .kbignore or --exclude";
  switch (kind) {
    case "unreadable":
      return { finding: kind, problem: `it cannot be read: ${reason}`, fix };
    case "broken-link":
      return { finding: kind, problem: "it is a link to nothing", fix };
    case "link-loop":
      return { finding: kind, problem: "it is a link that leads back to itself", fix };
    case "outside-link":
      return { finding: kind, problem: "it is a link that leads out of the folder", fix };
    case "no-file":
      return { finding: kind, problem: "it is a pipe, a socket or a device", fix };
  }
}

/** What is wrong with a path as the name of a document; `known` are the paths before it. */
function* nameProblems(path: string, known: Map<string, string>): Generator<Problem> {
  const length = [...path].length;
  if (length > longestName) {
    yield {
      finding: "name-length",
      problem: `the path has ${length} characters; a name has ${longestName} at most`,
      fix: "shorten it",
    };
  }
  // oxlint-disable-next-line no-control-regex -- file names may hold them
  const sign = /[\\\u0000-\u001f\u007f]/.exec(path)?.[0];
  if (sign !== undefined) {
    yield {
      finding: "name-sign",
      problem: `the name holds ${sign === "\\" ? "a backslash" : "a control character"}`,
      fix: "rename it",
    };
  }
  const key = path.normalize("NFC").toLowerCase().replaceAll("∕", "/");
  const other = known.get(key);
  if (other === undefined) known.set(key, path);
  else {
    yield {
      finding: "name-clash",
      problem: `as a name it is the same as ${other}`,
      fix: "rename one of them: they differ only in capitals, accents or a sign for /",
    };
  }
}
