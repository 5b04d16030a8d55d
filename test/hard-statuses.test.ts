import { expect, test } from "vitest";
import { against, createdKb, emptyPage, http, lines, rawServer, say } from "./raw-server.ts";

const { read, rename, create, remove } = lines;

test.each([
  [429, '{"code":"too_many_requests","message":"slow down"}', [7, 7, 7], [4, 4, 4]],
  [429, "<html>", [7, 7, 7], [4, 4, 4]],
  [429, '{"code":"rate_limit_error","message":"used up"}', [7, 7, 7], [1, 1, 1]],
  [502, "<html><h1>502 Bad Gateway</h1>", [1, 1, 1], [4, 4, 1]],
  [504, "", [1, 1, 1], [4, 4, 1]],
  [500, '{"code":"unknown","message":"Internal Server Error"}', [1, 1, 1], [1, 1, 1]],
])(
  "%d %s ends reads, renames and creates with %j after %j requests",
  async (status, body, exits, requests) => {
    const type = body.startsWith("<") ? { "content-type": "text/html" } : {};
    const ran = await Promise.all(
      [read, rename, create].map((line) => against([say(http(status, body, type))], line)),
    );
    expect(ran.map(({ exit }) => exit)).toEqual(exits);
    expect(ran.map((one) => one.requests.length)).toEqual(requests);
    expect(ran[2]?.err.includes("unknown whether it was applied")).toBe(status >= 500);
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

test.each(["102 Processing", "103 Early Hints"])("%s comes before the answer", async (status) => {
  const early = `HTTP/1.1 ${status}\r\nlink: </x>; rel=preload\r\n\r\n`;
  const ran = await against([say(early + http(200, createdKb))], create);
  expect(ran, ran.err).toMatchObject({ exit: 0, requests: { length: 1 } });
});
