// A bundle for MCP clients (.mcpb): the programs with a manifest, which asks for server and key.
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { zipSync } from "fflate";

/** The bytes of the bundle; `content` is the unpacked npm package. */
export function mcpBundle(about, content) {
  const files = readdirSync(content, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(content, join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"),
    )
    .filter((path) => /^(bin|dist)\/|^(package\.json|LICENSE)$/.test(path))
    .sort();
  const entries = Object.fromEntries(
    files.map((path) => [`server/${path}`, readFileSync(join(content, path))]),
  );
  const manifest = new TextEncoder().encode(`${JSON.stringify(manifestOf(about), null, 2)}\n`);
  // ZIP has no earlier year than 1980, and no time zone.
  return zipSync(
    { "manifest.json": manifest, ...entries },
    { level: 9, mtime: new Date(about.epoch * 1000) },
  );
}

/** manifest.json, version 0.3 of the format. */
const manifestOf = ({ name, version, description, license }) => ({
  manifest_version: "0.3",
  name,
  display_name: "Knowledge bases (kb)",
  version,
  description,
  author: { name: "The authors of kb-wf" },
  license,
  server: {
    type: "node",
    entry_point: "server/bin/kb.js",
    mcp_config: {
      command: "node",
      args: ["${__dirname}/server/bin/kb.js", "mcp"],
      env: { KB_BASE_URL: "${user_config.base_url}", KB_KEY: "${user_config.key}" },
    },
  },
  tools_generated: true,
  user_config: {
    base_url: {
      type: "string",
      title: "Base URL of the API",
      description: "As in https://example.com/v1",
      required: true,
    },
    key: {
      type: "string",
      title: "Knowledge key",
      description: "Starts with dataset-",
      sensitive: true,
      required: true,
    },
  },
  compatibility: { platforms: ["darwin", "linux", "win32"], runtimes: { node: ">=20.19" } },
});
