import { defineConfig } from "vitest/config";

const shared = { environment: "node", testTimeout: 20_000, hookTimeout: 20_000 };

export default defineConfig({
  test: {
    projects: [
      { test: { ...shared, name: "quick", include: ["test/*.test.ts"] } },
      { test: { ...shared, name: "long", include: ["test/long/*.test.ts"], testTimeout: 600_000 } },
    ],
  },
});
