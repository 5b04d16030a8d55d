#!/usr/bin/env node
// Node 20 has no compile cache, and asking it takes 1 ms.
if (!process.version.startsWith("v20.")) require("node:module").enableCompileCache?.();
require("../dist/main.cjs").main("wf");
