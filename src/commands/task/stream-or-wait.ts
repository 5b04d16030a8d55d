/** Whether a command prints events as they come (on a terminal or as jsonl), or one final result. */
export const asEvents = (
  input: { readonly blocking?: boolean | undefined; readonly detach?: boolean | undefined },
  format: string | undefined,
): boolean => !input.blocking && !input.detach && (format === undefined || format === "jsonl");
