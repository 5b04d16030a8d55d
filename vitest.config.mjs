import { defineConfig } from "vitest/config";

const shared = {
  environment: "node",
  setupFiles: ["test/lib/cleanup-setup.ts"],
  testTimeout: 20_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  test: {
    maxWorkers: "100%", // much of the time is spent waiting for programs that run beside
    projects: [
      {
        test: {
          ...shared,
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: ["test/long/**"],
          isolate: false, // the files of a worker share what they import
        },
      },
      { test: { ...shared, name: "long", include: ["test/long/*.test.ts"], testTimeout: 600_000 } },
    ],
  },
});
