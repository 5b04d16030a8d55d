import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { buildImage, runIn } from "../lib/dockerfile.ts";
import type { Image } from "../lib/dockerfile.ts";
import { root } from "../lib/paths.ts";
import { temporaryDirectory } from "../lib/support.ts";

// The Dockerfile, carried out without Docker: in empty directories, without a network, and the result without
// write access and as its own user.
let image: Image;

beforeAll(async () => {
  const folder = await temporaryDirectory();
  const [context, stages] = [join(folder, "context"), join(folder, "stages")];
  for (const path of [context, stages]) mkdirSync(path);
  const pack = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", context];
  execFileSync("npm", pack, { cwd: root });
  image = buildImage(join(root, "examples", "container", "Dockerfile"), context, stages);
  cpSync(join(root, "examples"), join(image.root, "examples"), { recursive: true });
});

/** Runs `docker run --read-only IMAGE WORDS`; `env` and `entrypoint` are the flags of the same names. */
function run(
  words: readonly string[],
  { entrypoint = image.entrypoint, env = {} }: Partial<Pick<Image, "entrypoint" | "env">> = {},
) {
  const args = [...entrypoint, ...(words.length > 0 ? words : image.command)];
  return runIn(image, { args, env, readOnly: true });
}

test("the entry point is kb, and wf is there", () => {
  expect(run(["--version"])).toMatchObject({ status: 0, out: expect.stringMatching(/^kb \d/) });
  expect(run([])).toMatchObject({ status: 0, out: expect.stringContaining("kb <command>") });
  const wf = run(["--version"], { entrypoint: ["wf"] });
  expect(wf).toMatchObject({ status: 0, out: expect.stringMatching(/^wf \d/) });
});

test("it is not root, and can write nothing and reach nothing", () => {
  const shell = (line: string) => run(["-c", line], { entrypoint: ["/bin/sh"] });
  expect(shell("id -u; id -g; pwd").out).toBe("1000\n1000\n/work\n");
  expect(
    shell("touch /work/a /tmp/a /opt/kb-wf/a").output.match(/Read-only file system/g),
  ).toHaveLength(3);
  expect(shell("tail -n +3 /proc/net/dev").out).toMatch(/^ *lo:[^\n]*\n$/);
});

test("knowledge bases and workflows work from a read-only root", () => {
  const lines = [
    "kb create Handbook --indexing-technique economy -q -o name",
    "kb sync Handbook /examples/handbook -q",
    "kb doc wait Handbook -q",
    "kb search Handbook 有給休暇 --top-k 1 --jq '.[].segment.document.name'",
    "wf run query=hello -q -o json --jq .outputs.query",
  ];
  const { status, out, output } = run([
    "sandbox",
    "--ephemeral",
    "--",
    "sh",
    "-ec",
    lines.join("\n"),
  ]);
  expect(status, output).toBe(0);
  expect(out).toContain("osaka-leave.md\n");
  expect(out).toMatch(/hello\n$/);
});

test("an error is reported although no log of it can be written", () => {
  const env = { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "dataset-x" };
  const { status, output } = run(["list", "--retries", "0"], { env });
  expect(output.split("\n")).toEqual([
    "error: failed to list knowledge bases: no response from http://127.0.0.1:9: connection refused: 127.0.0.1:9",
    "hint: check that the server is running and the base URL is correct",
    "",
  ]);
  expect(status).toBe(11);
});
