/** Version of the package; a test compares it with package.json. */
export const version = "0.1.0";

/** What `--version` prints. */
export const versionLine = (program: string, platform: string): string =>
  `${program} ${version} (node ${platform})\n`;
