import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { CronJob, Job } from "kubernetes-models/batch/v1";
import type { ICronJob } from "kubernetes-models/batch/v1";
import { expect, test } from "vitest";
import { afterFile } from "../lib/cleanup.ts";
import { jobOf } from "../lib/job-player.ts";
import { root } from "../lib/paths.ts";

// Types and schemas of the package kubernetes-models 4.5.1.
const folder = join(root, "examples", "kubernetes");
/** It has a schedule, and pods that sync a file of sources. */
const scheduled = "sync-sources.yaml";
const names = readdirSync(folder).filter((name) => name !== scheduled);

test("the scheduled job is valid, runs alone and without rights, and reads its file", () => {
  const job = parse(readFileSync(join(folder, scheduled), "utf8")) as ICronJob;
  expect(() => new CronJob(job).validate()).not.toThrow();
  expect(job.spec?.concurrencyPolicy).toBe("Forbid");
  const pod = job.spec?.jobTemplate.spec?.template.spec;
  const [container] = pod?.containers ?? [];
  expect(pod?.securityContext?.runAsNonRoot).toBe(true);
  expect(container?.securityContext).toEqual({
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  });
  expect(container?.args?.[2]).toBe(`${container?.volumeMounts?.[0]?.mountPath}/sources.yaml`);
  for (const { value } of container?.env ?? [])
    expect(
      container?.volumeMounts?.some(({ mountPath }) => value?.startsWith(`${mountPath}/`)),
    ).toBe(true);
});

test.each(names)("%s is valid by the schema of Kubernetes", (name) => {
  expect(() => new Job(jobOf(name)).validate()).not.toThrow();
});

test("the manifests have no field that Kubernetes does not know", () => {
  // The schemas allow unknown fields, but TypeScript does not.
  const place = join(root, "node_modules", ".cache", `manifests-${process.pid}`);
  afterFile(() => rmSync(place, { recursive: true, force: true }));
  mkdirSync(place, { recursive: true });
  const jobs = names.map(
    (name) => `const _${name.replace(/\W/g, "_")}: IJob = ${JSON.stringify(jobOf(name))};`,
  );
  writeFileSync(
    join(place, "jobs.ts"),
    ['import type { IJob } from "kubernetes-models/batch/v1";', ...jobs].join("\n"),
  );
  const flags = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--ignoreConfig",
  ];
  const compiler = join(root, "node_modules", ".bin", "tsc");
  expect(execFileSync(compiler, [...flags, "jobs.ts"], { cwd: place, encoding: "utf8" })).toBe("");
});

const codes = (name: string, action: string) =>
  jobOf(name)
    .spec?.podFailurePolicy?.rules.filter((rule) => rule.action === action)
    .flatMap(({ onExitCodes }) => onExitCodes?.values ?? []);

test.each(names)(
  "%s tries limits and network errors again, not wrong commands and keys",
  (name) => {
    expect(codes(name, "Count")).toEqual([7, 11, 12]);
    expect(codes(name, "FailJob")).toEqual([2, 3, 4, 6]);
  },
);

test.each(names)("%s runs without rights, and mounts what its command reads", (name) => {
  const { template } = jobOf(name).spec ?? {};
  const [container] = template?.spec?.containers ?? [];
  expect(template?.spec?.securityContext?.runAsNonRoot).toBe(true);
  expect(container?.securityContext).toEqual({
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  });
  expect(container?.args).toContain(container?.volumeMounts?.[0]?.mountPath);
});

test("each pod of the indexed job has a shard", () => {
  const { spec } = jobOf("sync.yaml");
  expect(spec?.template.spec?.containers[0]?.args).toContain(`auto/${spec?.completions}`);
});
