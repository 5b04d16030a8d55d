// Builds everything in dist: `npm run build`. Unlike the command line of the bundler, it prints no list of files.
import { build } from "rolldown";
import config from "../rolldown.config.mjs";

// Some modules are loaded on demand by one module and at once by another one, which is loaded on demand itself.
const checks = { ineffectiveDynamicImport: false };
for (const options of config) await build({ ...options, checks });
