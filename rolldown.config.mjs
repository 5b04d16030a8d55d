import { defineConfig } from "rolldown";

// Chunks keep the lazy parts lazy. What every command needs is one file: reading thirty small ones
// costs more than the rest of a start. The package that finds its .wasm beside itself stays
// out.
export default defineConfig({
  input: { main: "src/main.ts" },
  platform: "node",
  external: ["node-sqlite3-wasm"],
  output: {
    dir: "dist",
    // Node starts a CommonJS program 10 ms sooner than an ES module.
    format: "cjs",
    entryFileNames: "[name].cjs",
    minify: { compress: true, mangle: false, codegen: true }, // stacks keep their names
    cleanDir: true,
    chunkFileNames: "[name].cjs",
    codeSplitting: {
      groups: [
        {
          name: "core",
          test: /src\/(operations|errors|json|version|cli\/(run|program|command|commands|globals|help|help-topic|topics|nearest)|commands\/(tasks|as-events))|commander|leven/,
        },
        { name: "tell", test: /src\/(render\/text|cli\/(tell|failure|color))\./ },
        {
          name: "perform",
          test: /src\/(api|config|cli|render\/(?!progress|jq))|eventsource-parser/,
        },
      ],
    },
  },
});
