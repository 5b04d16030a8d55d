#!/usr/bin/env node
require("node:module").enableCompileCache?.();
require("../dist/main.cjs").main("wf");
