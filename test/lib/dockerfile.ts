import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Copy, DockerfileParser, Entrypoint, Env, From } from "dockerfile-ast";
import type { Instruction } from "dockerfile-ast";

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
  for (const instruction of DockerfileParser.parse(readFileSync(file, "utf8")).getInstructions()) {
    if (instruction instanceof From) {
      const name = instruction.getBuildStage() ?? "";
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

/** Carries out an instruction; returns which settings it changes. */
function changeOf(instruction: Instruction, image: Image, build: Build): Partial<Image> {
  const words = instruction.getArguments().map((argument) => argument.getValue());
  const [first = ""] = words;
  switch (instruction.getKeyword()) {
    case "LABEL":
      return {};
    case "ENV":
      return { env: { ...image.env, ...variablesOf(instruction as Env, image.env) } };
    case "USER":
      return { user: first };
    case "WORKDIR":
      mkdirSync(join(image.root, first), { recursive: true });
      return { directory: resolve(image.directory, first) };
    case "ENTRYPOINT":
      return { entrypoint: stringsOf(instruction), command: [] };
    case "CMD":
      return { command: stringsOf(instruction) };
    case "COPY":
      copy(instruction as Copy, image, build);
      return {};
    case "RUN": {
      const line = instruction.getRawArgumentsContent()?.replace(/\\\n/g, "") ?? "";
      const { status, output } = runIn(image, { args: ["/bin/sh", "-c", line] });
      if (status !== 0) throw new Error(`RUN ${line}: exit code ${status}\n${output}`);
      return {};
    }
    default:
      throw new Error(`the test cannot carry out ${instruction.getKeyword()}`);
  }
}

const variablesOf = (instruction: Env, env: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    instruction
      .getProperties()
      .map((property) => [
        property.getName(),
        (property.getValue() ?? "").replace(/\$\{?(\w+)\}?/g, (_, name: string) => env[name] ?? ""),
      ]),
  );

/** The words of an instruction in JSON; the form for a shell would not pass signals on. */
function stringsOf(instruction: Instruction): string[] {
  const strings = (instruction as Entrypoint).getJSONStrings().map((text) => text.getJSONValue());
  if (strings.length === 0) throw new Error(`${instruction.getKeyword()} is not JSON`);
  return strings;
}

/** Copies one file or the contents of one directory, as COPY does. */
function copy(instruction: Copy, { root }: Image, { context, stages }: Build): void {
  const from = instruction.getFlags().find((flag) => flag.getName() === "from");
  const source = from === undefined ? context : stages.get(from.getValue() ?? "")?.root;
  const [pattern = "", to = "", ...others] = instruction
    .getArguments()
    .map((argument) => argument.getValue());
  if (source === undefined || others.length > 0) throw new Error(instruction.toString());
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
