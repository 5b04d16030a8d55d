#!/usr/bin/env node
require("../dist/main.cjs").main("wf");
