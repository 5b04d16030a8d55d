import { openAsBlob } from "node:fs";
import {
  appendFile,
  mkdir,
  open,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname } from "node:path";
import type { Files } from "./host.ts";

/** The real disk. */
export const diskFiles: Files = {
  read: (path) => readFile(path),
  blob: (path) => openAsBlob(path),
  async stat(path) {
    try {
      const found = await stat(path);
      return { size: found.size, isDirectory: found.isDirectory(), mode: found.mode & 0o777 };
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT" || code === "ENOTDIR") return null;
      throw error;
    }
  },
  list: async (path) => (await readdir(path)).sort(),
  async writeAtomic(path, content, mode = 0o666) {
    const { randomBytes } = await import("node:crypto"); // 5 ms that most commands do not need
    const beside = `${path}.${randomBytes(4).toString("hex")}.tmp`;
    const file = await open(beside, "w", mode);
    try {
      await writeFile(file, content);
      await file.sync();
      await file.close();
      await rename(beside, path);
    } catch (error) {
      await file.close().catch(() => {});
      await rm(beside, { force: true });
      throw error;
    }
  },
  async append(path, text) {
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, text, { flush: true });
  },
  makeFolder: async (path, mode = 0o777) => void (await mkdir(path, { recursive: true, mode })),
  remove: (path) => rm(path, { force: true, recursive: true }),
};
