import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** A stage of a Dockerfile: its files and settings. The system and Node.js are those of this machine. */
export interface Image {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
}

/** What a process in an image does. */
interface Started {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly readOnly?: boolean;
}

/** Builds the last stage of a Dockerfile from `context`, in the empty directory `place`. */
export function buildImage(file: string, context: string, place: string): Image {
  const stages = new Map<string, Image>();
  let image: Image | undefined;
  for (const instruction of instructionsOf(readFileSync(file, "utf8"))) {
    if (instruction.keyword === "FROM") {
      const [, name = ""] = / as (\S+)$/i.exec(instruction.text) ?? [];
      image = baseImage(join(place, name || "image"));
      stages.set(name, image);
      continue;
    }
    if (!image) throw new Error("an instruction before FROM");
    image = { ...image, ...changeOf(instruction, image, { context, stages }) };
    for (const [name, { root }] of stages) if (root === image.root) stages.set(name, image);
  }
  if (!image) throw new Error("no FROM");
  return image;
}

const node = dirname(process.execPath);

function baseImage(root: string): Image {
  mkdirSync(join(root, "tmp"), { recursive: true });
  const env = { PATH: `${node}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin` };
  return { root, env, directory: "/", user: "0:0", entrypoint: [], command: [] };
}

interface Build {
  readonly context: string;
  readonly stages: ReadonlyMap<string, Image>;
}

interface Instruction {
  readonly keyword: string;
  readonly text: string;
}

/** The instructions, without comments and on one line each. */
const instructionsOf = (text: string): Instruction[] =>
  text
    .replace(/^\s*#.*\n/gm, "")
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .flatMap((line) => {
      const [, keyword = "", rest = ""] = /^(\S+)\s+(.*\S)/.exec(line) ?? [];
      return keyword === "" ? [] : [{ keyword: keyword.toUpperCase(), text: rest }];
    });

/** Carries out an instruction; returns which settings it changes. */
function changeOf({ keyword, text }: Instruction, image: Image, build: Build): Partial<Image> {
  switch (keyword) {
    case "LABEL":
      return {};
    case "ENV":
      return { env: { ...image.env, ...variablesOf(text, image.env) } };
    case "USER":
      return { user: text };
    case "WORKDIR":
      mkdirSync(join(image.root, text), { recursive: true });
      return { directory: resolve(image.directory, text) };
    case "ENTRYPOINT":
      return { entrypoint: stringsOf(text), command: [] };
    case "CMD":
      return { command: stringsOf(text) };
    case "COPY":
      copy(text, image, build);
      return {};
    case "RUN": {
      const { status, output } = runIn(image, { args: ["/bin/sh", "-c", text] });
      if (status !== 0) throw new Error(`RUN ${text}: exit code ${status}\n${output}`);
      return {};
    }
    default:
      throw new Error(`the test cannot carry out ${keyword}`);
  }
}

/** `A=b C=$A` as variables; values in quotes would be read wrongly. */
const variablesOf = (text: string, env: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)=([^\s"']*)/g)].map(([, name = "", value = ""]) => [
      name,
      value.replace(/\$\{?(\w+)\}?/g, (_, other: string) => env[other] ?? ""),
    ]),
  );

/** The words of an instruction in JSON; the form for a shell, which would not pass signals on, is invalid. */
const stringsOf = (text: string) => JSON.parse(text) as string[];

/** Copies one file or the contents of one directory, as COPY does. */
function copy(text: string, { root }: Image, { context, stages }: Build): void {
  const words = text.split(/\s+/);
  const from = words[0]?.startsWith("--from=") ? words.shift()?.slice("--from=".length) : undefined;
  const source = from === undefined ? context : stages.get(from)?.root;
  const [pattern = "", to = "", ...others] = words;
  if (source === undefined || others.length > 0) throw new Error(`COPY ${text}`);
  const folder = join(source, dirname(pattern));
  const name = new RegExp(
    `^${pattern.replace(/^.*\//, "").replaceAll(".", "\\.").replaceAll("*", ".*")}$`,
  );
  const [found, ...more] = readdirSync(folder).filter((entry) => name.test(entry));
  if (found === undefined || more.length > 0)
    throw new Error(`COPY ${pattern}: ${found === undefined ? "nothing" : "several files"} found`);
  cpSync(join(folder, found), join(root, to), { recursive: true, verbatimSymlinks: true });
}

/** Directories of this machine that the base image lends: the system, and Node.js. */
const lent = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc"];

/**
 * Runs a program in an image, in namespaces of its own: without a network but for 127.0.0.1, and with
 * `readOnly` without write access. Linux only; needs root or user namespaces.
 */
export function runIn(image: Image, { args, env = {}, readOnly = false }: Started) {
  const { root, directory, user } = image;
  const borrowed = [...lent, ...(node.startsWith("/usr/") ? [] : [dirname(node)])];
  const script = [
    "set -e",
    `mount --bind "${root}" "${root}"`,
    ...borrowed
      .filter(existsSync)
      .flatMap((path) => [
        `mkdir -p "${root}${path}"`,
        `mount --rbind "${path}" "${root}${path}"`,
        ...(["/dev", "/proc"].includes(path) ? [] : [`mount -o remount,bind,ro "${root}${path}"`]),
      ]),
    "ip link set lo up",
    ...(readOnly ? [`mount -o remount,bind,ro "${root}"`] : []),
    `exec chroot --userspec=${user} --groups= "${root}" "$@"`,
  ].join("\n");
  const home = user.startsWith("0") ? "/root" : "/home/node";
  const variables = Object.entries({ ...image.env, HOME: home, ...env }).map((pair) =>
    pair.join("="),
  );
  const start = ["/usr/bin/env", "-i", `--chdir=${directory}`, ...variables, ...args];
  const own = process.getuid?.() === 0 ? [] : ["--map-root-user", "--map-auto"];
  const { status, stdout, stderr, error } = spawnSync(
    "unshare",
    ["--mount", "--net", ...own, "/bin/sh", "-c", script, "sh", ...start],
    { encoding: "utf8" },
  );
  if (error) throw error;
  return { status, out: stdout, output: `${stdout}${stderr}` };
}
