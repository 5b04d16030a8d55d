/** Version of the package; a test compares it with package.json. */
export const version = "0.1.0";

/** What `--version` prints. */
export const versionLine = (program: string, platform: string): string =>
  `${program} ${version} (node ${platform})\n`;

/** Compares versions such as `1.14.2` number by number. */
export function atLeast(version: string, minimum: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [actual, required] = [numbers(version), numbers(minimum)];
  const index = required.findIndex((number, each) => (actual[each] ?? 0) !== number);
  return index === -1 || (actual[index] ?? 0) > (required[index] ?? 0);
}
