import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const shared = {
  environment: "node",
  setupFiles: ["test/lib/cleanup-setup.ts"],
  testTimeout: 20_000,
  hookTimeout: 20_000,
  css: true, // otherwise the style of pages is empty
};

export default defineConfig({
  test: {
    // One more than cores: much of the time is spent waiting for programs that run beside.
    maxWorkers: availableParallelism() + 1,
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
