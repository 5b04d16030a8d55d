import { defineConfig } from "rolldown";

// Chunks keep the lazy parts lazy; the two packages that find their .wasm beside themselves stay out.
export default defineConfig({
  input: { main: "src/main.ts" },
  platform: "node",
  external: ["jq-wasm", "node-sqlite3-wasm"],
  output: { dir: "dist", format: "esm", minify: "dce-only", cleanDir: true },
});
