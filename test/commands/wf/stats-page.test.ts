import { expect, test } from "vitest";
import { openedPage, textsOf } from "../../lib/opened-page.ts";
import { testSandbox } from "../../lib/sandbox.ts";

test("the page of statistics names the application, and draws runs and times with axes", async () => {
  const server = await testSandbox();
  await server.cli(["wf", "--app", "echo", "run", "-i", "query=hello"]);
  const line = ["wf", "--app", "echo", "stats", "-o", "html", "--utc"];
  const { out, err, exit } = await server.cli(line);
  expect(exit, err).toBe(0);
  const window = openedPage(out);
  expect(textsOf(window, ".facts dt")).toEqual(["application", "server", "time"]);
  expect(textsOf(window, ".facts dd")[0]).toBe("echo");
  expect(textsOf(window, ".tiles li").slice(0, 2)).toEqual([
    expect.stringMatching(/^runs 1/),
    "failed runs 0 (0 %)",
  ]);
  // A line of one point would be a dot.
  expect(textsOf(window, "figcaption")).toEqual(["Runs per hour not failed failed"]);
  expect(textsOf(window, ".bars .y span")).toEqual(["1", "0"]);
  expect(
    textsOf(window, ".bars title").filter((text) => text.includes(" 1 not failed")),
  ).toHaveLength(1);
  expect(textsOf(window, "h2")).toEqual(["By status", "Figures", "Per hour"]);
  expect(textsOf(window, "th")).not.toContain("since");
});
