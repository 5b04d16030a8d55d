#!/usr/bin/env node
// A sample source for `kb sync`: the files of a directory. docs/sources.md describes the protocol.
//
//     node directory.mjs DIRECTORY list        one JSON object a line, and the end
//     node directory.mjs DIRECTORY get PATH    the content of an object
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";

const [directory, call, path] = process.argv.slice(2);

if (call === "list") {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    const content = readFileSync(file);
    // A real source has something cheaper: a version, an ETag, the time of the last change.
    const fingerprint = createHash("sha256").update(content).digest("hex");
    const object = {
      path: relative(directory, file).split(sep).join("/"),
      fingerprint,
      size: content.length,
    };
    console.log(JSON.stringify(object));
  }
  // Only after everything was listed: without this line, nothing is deleted.
  console.log(JSON.stringify({ end: true, complete: true, unsure: [] }));
} else if (call === "get") {
  process.stdout.write(readFileSync(join(directory, path)));
} else {
  console.error("usage: directory.mjs DIRECTORY list | get PATH");
  process.exitCode = 2;
}
