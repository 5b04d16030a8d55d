/** Returns a function that formats a CSV record (RFC 4180). */
export async function csvLines(): Promise<(cells: readonly string[]) => string> {
  const { stringify } = await import("csv-stringify/sync");
  // By default it leaves a lone line feed unquoted, which readers take for the end of a record.
  const options = { record_delimiter: "\r\n", quoted_match: /[\r\n]/ };
  return (cells) => stringify([[...cells]], options);
}
