// Checks types, lint, format and the table of operations, in a few seconds.
import { quickChecks, start } from "./check/run.mjs";

const failed = await start(quickChecks)();
process.exit(failed.length === 0 ? 0 : 1);
