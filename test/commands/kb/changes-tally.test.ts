/** What a sync that ends early says of its changes: those that were made, and those that may have been. */
import { beforeEach, expect, test } from "vitest";
import { actions, write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { setFaults, syncedBases } from "../../lib/synced-base.ts";

let onRequest: (path: string) => void = () => {};
const server = await testSandbox({ models: true, onRequest: ({ path }) => onRequest(path) });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";
beforeEach(async () => {
  onRequest = () => {};
  ({ kb, dir } = await newBase());
});

const files = (count: number) =>
  write(
    dir,
    Object.fromEntries(["a", "b", "c"].slice(0, count).map((name) => [name + ".md", name])),
  );
const sync = (signal?: AbortSignal) =>
  server.cli(["kb", "sync", kb, dir, "--concurrency", "1"], {
    folder: home,
    ...(signal && { signal }),
  });

test.each([
  [
    "a document is sent",
    "/document/create-by-text",
    3,
    "2 of 3 files uploaded, 1 more change may have been made\nhint:",
  ],
  [
    "marks are written",
    "/documents/metadata",
    1,
    "1 of 1 file uploaded\nthe change may have been applied\nhint:",
  ],
])("an interrupt while %s", async (_, path, nth, text) => {
  await files(nth);
  setFaults(server, [`POST /datasets/*${path} silence skip=${nth - 1}`]);
  const stop = new AbortController();
  let count = 0;
  onRequest = (sent) => sent.endsWith(path) && ++count === nth && stop.abort("SIGINT");
  const { exit, err } = await sync(stop.signal);
  expect(err).toContain(`error: interrupted: ${text}`);
  expect(exit).toBe(130);
});

test("an interrupt after one was indexed and the other was not", async () => {
  const made = ["--indexing-technique", "high_quality", "-o", "name"];
  kb = (await server.done(["kb", "create", "With a model", ...made])).out.trim();
  await write(dir, { "a.md": "a", "b.md": "[[embed-error:rate]] b" });
  // It is sent a second time.
  setFaults(server, ["POST /datasets/*/document/create-by-text silence skip=2"]);
  const stop = new AbortController();
  let count = 0;
  onRequest = (sent) => sent.endsWith("/create-by-text") && ++count === 3 && stop.abort("SIGINT");
  const { exit, err } = await sync(stop.signal);
  expect(err).toContain(
    "error: interrupted: 2 of 2 files uploaded (1 indexed), 1 more change may have been made\nhint:",
  );
  expect(exit).toBe(130);
});

test("a document that the server refuses stops no other", async () => {
  await files(3);
  setFaults(server, ["POST /datasets/*/document/create-by-text status=400 times=1"]);
  const { exit, out } = await sync();
  expect(actions(out)).toEqual(["create b.md", "create c.md", "failed a.md"]);
  expect(exit).toBe(10);
});

test("a key that is refused after the first document", async () => {
  await files(3);
  setFaults(server, ["POST /datasets/*/document/create-by-text status=401 skip=1"]);
  const { exit, err } = await sync();
  expect(err).toContain("ended early: 1 of 3 files uploaded\n");
  expect(exit).toBe(4);
});
