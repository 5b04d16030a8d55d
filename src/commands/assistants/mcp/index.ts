/** What the servers of kb and wf have in common. */
export { commandTool, isOffered, isPermitted, toolName } from "./command-tools.ts";
export type { Permissions } from "./command-tools.ts";
export {
  structuredResult,
  untrustedInstructions,
  untrustedMark,
  untrustedText,
  withErrorResults,
} from "./results.ts";
export type { ToolCallOf } from "./results.ts";
export { objectSchema, orNull, readingTool } from "./schema.ts";
export { serveClients } from "./serve.ts";
export { callOf, chosenTools } from "./toolsets.ts";
export type {
  ClientRequest,
  Offer,
  OfferedPrompt,
  OfferedResources,
  OfferedTool,
  UserReply,
} from "./schema.ts";
export { mcpAddress, mcpClient, mcpConfigSpec } from "./params.ts";
