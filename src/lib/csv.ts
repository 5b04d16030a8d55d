/** Makes lines of comma-separated cells by RFC 4180. */
export async function csvLines(): Promise<(cells: readonly string[]) => string> {
  const { stringify } = await import("csv-stringify/sync");
  // By itself it would leave a lone line feed unquoted, which readers take for the end of a row.
  const options = { record_delimiter: "\r\n", quoted_match: /[\r\n]/ };
  return (cells) => stringify([[...cells]], options);
}
