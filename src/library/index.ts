/** `import { createClient } from "kb-wf"`: the client of the API. */
export { ApiError, CliError, createClient, exitCodes } from "./client.ts";
