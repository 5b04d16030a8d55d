/** Whether a run with this status has succeeded, even if only after failed attempts (server §13). */
export const isSuccess = (status: string | undefined): boolean =>
  status === "succeeded" || status === "partial-succeeded";

/** Whether a run with this status has ended (server §7). */
export const isEnded = (status: string): boolean =>
  ["succeeded", "failed", "stopped", "partial-succeeded"].includes(status);
