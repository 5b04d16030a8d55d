import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { against, createdKb, emptyPage, http, lines, rawServer, say } from "../lib/raw-server.ts";
import { temporaryDirectory } from "../lib/support.ts";

const { read, rename, create, remove } = lines;

test.each([
  [429, '{"code":"too_many_requests","message":"slow down"}', [7, 7, 7], [4, 4, 4]],
  [429, "<html>", [7, 7, 7], [4, 4, 4]],
  [429, '{"code":"rate_limit_error","message":"used up"}', [7, 7, 7], [1, 1, 1]],
  [502, "<html><h1>502 Bad Gateway</h1>", [1, 1, 1], [4, 4, 1]],
  [504, "", [1, 1, 1], [4, 4, 1]],
  [500, '{"code":"unknown","message":"Internal Server Error"}', [1, 1, 1], [1, 1, 1]],
])(
  "%d %s: reads, renames and creates exit with %j after %j requests",
  async (status, body, exits, requests) => {
    const type = body.startsWith("<") ? { "content-type": "text/html" } : {};
    const ran = await Promise.all(
      [read, rename, create].map((line) => against([say(http(status, body, type))], line)),
    );
    expect(ran.map(({ exit }) => exit)).toEqual(exits);
    expect(ran.map((one) => one.requests.length)).toEqual(requests);
    expect(ran[2]?.err.includes("the change may have been applied")).toBe(status >= 500);
    expect(ran[0]?.err).not.toContain("<h1>");
  },
);

test.each([300, 301, 302, 303, 304, 307, 308])(
  "a %d is not followed, not even by a read",
  async (status) => {
    const other = await rawServer([say(http(200, emptyPage))]);
    const away = say(http(status, "", { location: `${other.baseUrl}/datasets` }));
    for (const line of [read, rename, create, remove]) {
      const ran = await against([away], line);
      expect(ran, ran.err).toMatchObject({ exit: 6, out: "", requests: { length: 1 } });
      expect(ran.err).toContain(`redirects to ${other.baseUrl}/datasets`);
      expect(ran.err).not.toContain("unknown whether");
    }
    expect(other.requests).toEqual([]);
  },
);

test.each(["102 Processing", "103 Early Hints"])(
  "%s before the response is ignored",
  async (status) => {
    const early = `HTTP/1.1 ${status}\r\nlink: </x>; rel=preload\r\n\r\n`;
    const ran = await against([say(early + http(200, createdKb))], create);
    expect(ran, ran.err).toMatchObject({ exit: 0, requests: { length: 1 } });
  },
);

test("a 503 of the server itself means that no changes were made: every request is retried", async () => {
  const body = '{"code":"service_unavailable","message":"x could not be verified","status":503}';
  const unavailable = say(http(503, body, { "x-version": "1.16.0" }));
  for (const line of [read, create, remove]) {
    const ran = await against([unavailable], line);
    expect(ran, ran.err).toMatchObject({ exit: 1, requests: { length: 4 } });
    expect(ran.err).toContain("could not be verified");
    expect(ran.err).not.toContain("unknown whether");
  }
  const gone = say(http(404, '{"code":"not_found","message":"Dataset not found.","status":404}'));
  expect((await against([unavailable, gone], remove)).exit).toBe(3);
});

test("-v prints the deprecation of an endpoint once per response", async () => {
  const old = say(
    http(200, emptyPage, {
      deprecation: "@1782864000",
      sunset: "Wed, 01 Jul 2027 00:00:00 GMT",
    }),
  );
  const ran = await against([old], [...read, "-v"]);
  expect(ran.err.match(/deprecated.*/g)).toEqual([
    "deprecated; it works until Wed, 01 Jul 2027 00:00:00 GMT",
  ]);
  const quiet = await against([old], read);
  expect(quiet.err).not.toContain("deprecated");
});

test("the error names the file that the server rejects", async () => {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, "setup.exe"), "x");
  const body = '{"code":"unsupported_file_type","message":"","status":415}';
  const ran = await against(
    [say(http(415, body))],
    ["kb", "pipeline", "upload", join(folder, "setup.exe")],
  );
  expect(ran.exit).toBe(5);
  expect(ran.err).toContain("the file was rejected: file type not supported by the server");
});
