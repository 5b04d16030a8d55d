/** Version of the package; a test compares it with package.json. */
export const version = "0.3.0";

/** What `--version` prints. */
export const versionLine = (program: string, platform: string): string =>
  `${program} ${version} (node ${platform})\n`;

/** The exact versions of the servers of which exchanges were recorded. */
export const recordedServers = {
  "1.12": "1.12.1",
  "1.14": "1.14.2",
  "1.15": "1.15.0",
  "1.16": "1.16.1",
} as const;

/** The newest of them. */
export const newestServer = recordedServers["1.16"];

/** What the sandbox reports as the version of which only the source was read, after 1.17.1 (server §3.1). */
export const nextServer = "1.18.0-next";

/** The versions of servers that the sandbox imitates. */
export const sandboxServers = { ...recordedServers, next: nextServer } as const;

/** Whether a version such as `1.14.2` is a minimum or higher. Compares numbers, ignores suffixes. */
export function atLeast(version: string, minimum: string): boolean {
  const numbersIn = (text: string) =>
    text.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0);
  const [actual, required] = [numbersIn(version), numbersIn(minimum)];
  const at = [0, 1, 2].find((index) => (actual[index] ?? 0) !== (required[index] ?? 0));
  return at === undefined || (actual[at] ?? 0) > (required[at] ?? 0);
}
