import { defineConfig } from "vitest/config";

const shared = { environment: "node", testTimeout: 20_000, hookTimeout: 20_000 };

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
        },
      },
      { test: { ...shared, name: "long", include: ["test/long/*.test.ts"], testTimeout: 600_000 } },
    ],
  },
});
