/** One event of a stream: its kind, the server's text, and that text parsed. */
export interface ServerEvent {
  /** `node_started`, `workflow_finished`, …; our own kinds start with an underscore. */
  readonly event: string;
  /** The JSON text as the server sent it, without `data: `. */
  readonly raw: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** When it was received, in ms since the epoch; only in recordings. */
  readonly at?: number | undefined;
  /** Short name of its run, if several are followed together. */
  readonly run?: string | undefined;
}
