import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { jobOf, playJob } from "../lib/job-player.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const [sync, prune] = [jobOf("sync.yaml"), jobOf("prune.yaml")];

/** A sandbox with an empty knowledge base, and a volume with the handbook. */
async function cluster(options: Parameters<typeof testSandbox>[0] = {}) {
  const server = await testSandbox({ speed: 1, ...options });
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  const volume = join(await temporaryDirectory(), "handbook");
  cpSync(join(root, "examples", "handbook"), volume, { recursive: true });
  const { KB_BASE_URL, KB_KEY } = server.env;
  const names = async () =>
    (await server.done(["kb", "doc", "list", "Handbook", "--all", "--jq", ".[].name"])).out
      .trim()
      .split("\n")
      .sort();
  const mounts = { "/handbook": volume };
  return { sandbox: server.sandbox, env: { KB_BASE_URL, KB_KEY }, mounts, volume, names };
}

test("a killed pod is replaced; the finishing job deletes what has no file", async () => {
  let [uploads, areUnderWay] = [0, () => {}];
  const kill = new Promise<void>((resolve) => (areUnderWay = resolve));
  const { sandbox, env, mounts, volume, names } = await cluster({
    onRequest({ path }) {
      if (!path.includes("/document/create-by-text") || ++uploads !== 6) return;
      sandbox.setFaults([]);
      areUnderWay();
    },
  });
  // Three files are there at once; the other uploads are under way when their pods are killed.
  sandbox.setFaults([parseFault("POST /datasets/*/document/create-by-text delay=1h skip=3")]);
  writeFileSync(join(volume, "former.md"), "This page will be removed.\n");
  const played = await playJob(sync, { env, mounts, kill });
  expect(played.status, played.pods.map(({ output }) => output).join("\n")).toBe("Complete");
  const dead = played.pods.filter(({ exit }) => exit === 137).map(({ index }) => index);
  expect(dead.length).toBeGreaterThan(0);
  for (const index of dead)
    expect(played.pods.filter((pod) => pod.index === index).at(-1)?.exit).toBe(0);
  expect(await names()).toEqual(readdirSync(volume).sort());

  rmSync(join(volume, "former.md"));
  const finished = await playJob(prune, { env, mounts });
  expect(finished.pods.map(({ exit }) => exit)).toEqual([0]);
  expect(finished.pods[0]?.output).toContain("delete\tformer.md");
  expect(await names()).toEqual(readdirSync(volume).sort());
});

test("a wrong volume deletes nothing", async () => {
  const { env, mounts, volume, names } = await cluster();
  expect((await playJob(prune, { env, mounts })).status).toBe("Complete");
  const before = await names();
  for (const name of readdirSync(volume).slice(4)) rmSync(join(volume, name));
  const played = await playJob(prune, { env, mounts });
  expect(played.status).toBe("Failed");
  expect(played.pods.map(({ exit }) => exit)).toEqual([2]);
  expect(await names()).toEqual(before);
});

test("a rejected key fails the job, and no pod is replaced", async () => {
  const { env, mounts } = await cluster();
  const played = await playJob(sync, { env: { ...env, KB_KEY: "dataset-wrong" }, mounts });
  expect(played.status).toBe("Failed");
  expect(new Set(played.pods.map(({ exit }) => exit).filter((exit) => exit !== 143))).toEqual(
    new Set([4]),
  );
  expect(played.pods.length).toBeLessThanOrEqual(8);
});

test("a wrong command fails the job", async () => {
  const { mounts } = await cluster();
  const played = await playJob(prune, { env: {}, mounts });
  expect(played.status).toBe("Failed");
  expect(played.pods.map(({ exit }) => exit)).toEqual([2]);
});

test("a rate limit is tried again, by a pod with the same index", async () => {
  const faults = [parseFault("GET /datasets status=429 times=3")];
  const { env, mounts, volume, names } = await cluster({ faults });
  const played = await playJob(sync, { env: { ...env, KB_RETRIES: "0" }, mounts });
  expect(played.status, played.pods.map(({ output }) => output).join("\n")).toBe("Complete");
  expect(played.pods.filter(({ exit }) => exit === 7)).toHaveLength(3);
  expect(played.pods).toHaveLength(11);
  expect(await names()).toEqual(readdirSync(volume).sort());
});

test("a server that cannot be reached is tried again, then the index fails", async () => {
  const { mounts } = await cluster();
  const env = { KB_BASE_URL: "http://127.0.0.1:9/v1", KB_KEY: "dataset-x", KB_RETRIES: "0" };
  const played = await playJob(prune, { env, mounts });
  expect(played.status).toBe("Failed");
  expect(played.pods.map(({ exit }) => exit)).toEqual([11, 11, 11, 11]);
});
