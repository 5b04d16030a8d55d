import { expect, test } from "vitest";
import { settingsFor } from "../../src/config/settings.ts";
import type { TargetFlags } from "../../src/config/settings.ts";
import type { Host } from "../../src/host/host.ts";

const store = {
  default: "work",
  profiles: {
    work: {
      base_url: "https://work.example/v1",
      key: "dataset-work",
      apps: { support: { key: "app-support" }, sales: { key: "app-sales" } },
      default_app: "support",
      user: "ann",
      read_only: true,
    },
    other: { base_url: "https://other.example/v1", apps: { only: { key: "app-only" } } },
  },
};

/** A host with these environment variables and the profiles above. */
function hostWith(env: Readonly<Record<string, string>>) {
  const reads: string[] = [];
  const host = {
    env,
    directories: { config: "/config" },
    secrets: { learn: () => {}, masked: (text: string) => text },
    files: {
      stat: async () => ({ size: 1, isDirectory: false, isFile: true, isLink: false, mode: 0o600 }),
      read: async (path: string) => {
        reads.push(path);
        return new TextEncoder().encode(JSON.stringify(store));
      },
    },
  } as unknown as Host; // settings use nothing else
  return { host, reads };
}

type Row = readonly [
  flags: TargetFlags,
  env: Readonly<Record<string, string>>,
  setting: "baseUrl" | "knowledgeKey" | "appKey" | "app" | "user" | "readOnly" | "profile",
  value: unknown,
  source: string,
];

const url = "https://env.example/v1";

// One line per step of precedence: flag, -p, environment, default profile, DIFY_*, built-in.
test.each<Row>([
  [{ baseUrl: url, profile: "work" }, {}, "baseUrl", url, "--base-url"],
  [
    { profile: "other" },
    { KB_BASE_URL: url },
    "baseUrl",
    "https://other.example/v1",
    "profile other",
  ],
  [{}, { KB_BASE_URL: url }, "baseUrl", url, "KB_BASE_URL"],
  [{}, { DIFY_BASE_URL: url }, "baseUrl", "https://work.example/v1", "profile work"],
  [{}, {}, "profile", "work", "profile work"],
  [{ profile: "other" }, {}, "profile", "other", "-p"],
  [{}, { KB_PROFILE: "other" }, "profile", "other", "profile other"],
  [{}, { KB_KEY: "dataset-env" }, "knowledgeKey", "dataset-env", "KB_KEY"],
  [{ profile: "work" }, { KB_KEY: "dataset-env" }, "knowledgeKey", "dataset-work", "profile work"],
  [{ profile: "other" }, { DIFY_API_KEY: "k" }, "knowledgeKey", "k", "DIFY_API_KEY"],
  [{ profile: "other" }, { DIFY_API_KEY: "app-x" }, "knowledgeKey", undefined, "not set"],
  [{}, { KB_APP_KEY: "app-env" }, "appKey", "app-env", "KB_APP_KEY"],
  [
    { app: "sales" },
    { KB_APP_KEY: "app-env" },
    "appKey",
    "app-sales",
    "profile work, application sales",
  ],
  [{}, {}, "appKey", "app-support", "profile work, application support"],
  [{ profile: "other" }, {}, "app", "only", "profile other"],
  [{}, { KB_APP: "sales" }, "app", "sales", "KB_APP"],
  [{}, {}, "user", "ann", "profile work"],
  [{ profile: "other" }, {}, "user", "kb-wf", "built-in"],
  [{ readOnly: true, profile: "other" }, {}, "readOnly", true, "--read-only"],
  [{}, {}, "readOnly", true, "profile work"],
  [{ profile: "other" }, {}, "readOnly", false, "built-in"],
])("flags %j and environment %j: %s is %j from %s", async (flags, env, name, value, source) => {
  const settings = await settingsFor(flags, hostWith(env).host, { key: "both" });
  expect(settings[name]).toEqual({ value, source });
});

test.each([
  ["dataset", { KB_BASE_URL: url, KB_KEY: "dataset-x" }, 0],
  ["app", { KB_BASE_URL: url, KB_APP_KEY: "app-x" }, 0],
  [undefined, { KB_BASE_URL: url }, 0],
  ["dataset", { KB_BASE_URL: url, KB_APP_KEY: "app-x" }, 1],
  ["dataset", { KB_BASE_URL: url, KB_KEY: "dataset-x", KB_PROFILE: "work" }, 1],
  ["both", { KB_BASE_URL: url, KB_KEY: "dataset-x", KB_APP_KEY: "app-x" }, 1],
] as const)("for key %s and %j, the profile file is read %d times", async (key, env, count) => {
  const { host, reads } = hostWith(env);
  await settingsFor({}, host, { key });
  expect(reads).toHaveLength(count);
});

test.each([
  [{ profile: "gone" }, {}, 'profile "gone" not found (-p)'],
  [{}, { KB_PROFILE: "gone" }, 'profile "gone" not found (KB_PROFILE)'],
  [{ app: "gone" }, {}, 'application "gone" not found in profile work'],
  [{}, { KB_DATASET_IDS: "Handbook=1" }, '"Handbook=1" does not end in a knowledge base ID'],
] as const)("flags %j and environment %j are rejected", async (flags, env, message) => {
  await expect(settingsFor(flags, hostWith(env).host, { key: "app" })).rejects.toThrow(message);
});

test("an application of another profile leads to that profile", async () => {
  const settings = settingsFor({ app: "only" }, hostWith({}).host, { key: "app" });
  await expect(settings).rejects.toMatchObject({
    message: 'application "only" not found in profile work',
    info: { hint: "profile other has it: add -p other" },
  });
});
