/**
 * Does a command that runs something give events as they come (on a terminal, in jsonl), or one
 * answer when all is done?
 */
export const asEvents = (
  input: { readonly blocking?: boolean | undefined; readonly detach?: boolean | undefined },
  format: string | undefined,
): boolean => !input.blocking && !input.detach && (format === undefined || format === "jsonl");
