import { defineConfig } from "vitest/config";
const shared = { environment: "node", testTimeout: 20_000, hookTimeout: 20_000, setupFiles: ["/tmp/hTm/cpu.mjs", "test/lib/cleanup-setup.ts"] };
export default defineConfig({ server: { fs: { strict: false } }, test: { maxWorkers: 1, ...shared, name: "quick", include: ["test/**/*.test.ts"], exclude: ["test/long/**"], isolate: false } });
