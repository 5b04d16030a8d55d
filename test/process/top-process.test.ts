import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { built } from "../lib/built.ts";
import { logServer } from "../lib/log-server.ts";
import { commandOnPty, onPty } from "../lib/pty.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { bin } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

const folder = await temporaryDirectory();
/** When each request arrived, in ms. */
const arrivals: number[] = [];
const sandbox = await testSandbox({
  speed: 1,
  onRequest: () => void arrivals.push(performance.now()),
});

const top = (app: string, env: Readonly<Record<string, string>> = {}, columns = 80) =>
  onPty(
    "wf",
    ["--app", app, "top"],
    { HOME: folder, NO_COLOR: "1", ...sandbox.env, ...env },
    columns,
  );

const start = async (app: string, ...inputs: readonly string[]) => {
  const flags = ["query=hello", ...inputs].flatMap((input) => ["--input", input]);
  const ran = await sandbox.cli(["wf", "--app", app, "run", ...flags, "--detach", "-o", "name"]);
  return ran.out.trim();
};

/** The cursor, the normal screen, and the cursor again if there was a spinner. */
const normalScreen = /<\[\?25h<\[\?1049l(<\[\?25h)?$/;

test("runs are listed with their nodes, followed and left by keys, at 80 and 40 columns", async () => {
  const runs = [await start("slow", "seconds=30"), await start("slow", "seconds=30")];
  arrivals.length = 0;
  const screen = top("slow");
  await screen.shows(/^> {2}running +\d:\d\d {2}Wait .*\n {3}running +\d:\d\d {2}Wait /m);
  await screen.shows(/^up\/down select {2}f follow {2}a answer {2}o open {2}q quit$/m);
  screen.type("\u001b[B"); // down
  await screen.shows(/^ {3}running.*\n> {2}running/m);
  screen.type("f");
  await screen.shows(/^Run [0-9a-f-]{36} running\n(.*\n){2}succeeded .*Start\nrunning .*Wait/m);
  screen.resize(40, 12);
  screen.type("q");
  // The emulator keeps what is beyond its new width.
  await screen.shows(/^> {2}runn(.*\n)+up\/down .* answer\no open {2}q quit/m);
  screen.type("q");
  expect(await screen.exit).toBe(0);
  // The normal screen is empty, as before.
  await screen.shows(/^\n*$/);
  expect(screen.written().replaceAll("\u001b", "<")).toMatch(normalScreen);
  const gaps = arrivals.slice(1).map((time, index) => time - (arrivals[index] ?? 0));
  expect(gaps.length).toBeGreaterThan(1);
  expect(Math.min(...gaps)).toBeGreaterThan(1900);
  for (const id of runs) expect(screen.written()).toContain(id.slice(0, 8));
});

test("a followed run stays on the screen when it has ended", async () => {
  const id = await start("slow", "seconds=6");
  const screen = top("slow");
  await screen.shows(new RegExp(`^> {2}running .* Wait .*${id.slice(0, 8)}`, "m"));
  screen.type("f");
  await screen.shows(new RegExp(`^Run ${id} succeeded\n(.*\n)+succeeded .*End$`, "m"));
  screen.type("qq");
  expect(await screen.exit).toBe(0);
});

test("a form is answered on the normal screen; then the dashboard continues", async () => {
  const id = await start("review");
  const screen = top("review");
  await screen.shows(/1 form waiting[^]*^> {2}paused .* Review .* approve, reject /m);
  screen.type("a");
  await screen.shows(/^Review \(1-3\):/m);
  screen.type("approve\r");
  await screen.shows(/\[looks fine\]:$/m);
  screen.type("\r");
  await screen.shows(/^the form was submitted$/m);
  await screen.shows(/^1 run ended in the last hour/m);
  screen.type("x");
  await screen.shows(/q quit$/m);
  screen.type("q");
  expect(await screen.exit).toBe(0);
  const { out } = await sandbox.cli(["wf", "--app", "review", "show", id, "--jq", ".status"]);
  expect(out).toBe("succeeded\n");
});

test("o opens the page of the run in the browser", async () => {
  const id = await start("review");
  const opened = join(folder, "opened");
  const env = { ...sandbox.env, KB_PROFILE: "", KB_APP_KEY: "app-review" };
  const browser = { HOME: folder, BROWSER: `echo %s > ${opened}` };
  const screen = onPty("wf", ["top"], { NO_COLOR: "1", ...env, ...browser });
  await screen.shows(new RegExp(`^> {2}paused .*${id.slice(0, 8)}`, "m"));
  screen.type("o");
  await screen.shows(new RegExp(`^opened the page of run ${id}$`, "m"));
  screen.type("q");
  expect(await screen.exit).toBe(0);
  expect(await readFile(opened, "utf8")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/app\/.*\/logs$/m);
});

test("Ctrl-C restores the terminal and exits with 130", async () => {
  const screen = top("slow");
  await screen.shows(/q quit/);
  screen.type("\u0003");
  expect(await screen.exit).toBe(130);
  expect(await screen.lines()).toEqual(["error: interrupted"]);
});

/** The dashboard of an application with paused runs, which asks for the answer to one form. */
async function askedForm() {
  await start("review");
  const screen = top("review");
  // Runs that started in the same second have no order.
  await screen.shows(/^> {2}paused .*approve, reject /m);
  screen.type("a");
  await screen.shows(/\(1-3\):/m);
  return screen;
}

test("Ctrl-D leaves a form unanswered", async () => {
  const screen = await askedForm();
  screen.type("\u0004");
  await screen.shows(/^the run stays paused$/m);
  screen.type("q");
  expect(await screen.exit).toBe(0);
});

test("Ctrl-C in a form ends the dashboard", async () => {
  const screen = await askedForm();
  screen.type("\u0003");
  expect(await screen.exit).toBe(130);
  expect(await screen.lines()).toContain("error: interrupted");
});

test("SIGTERM restores the terminal and exits with 143", async () => {
  const screen = top("slow");
  await screen.shows(/q quit/);
  process.kill(screen.pid, "SIGTERM");
  expect(await screen.exit).toBe(143);
  expect(await screen.lines()).toEqual(["error: interrupted"]);
});

test("a failed request is shown, and removed when one succeeds", async () => {
  let isDown = false;
  const { env } = await logServer(() => [], 1, {
    instead(_url, response) {
      response.statusCode = isDown ? 503 : 200;
      if (isDown) response.end("down");
      return isDown;
    },
  });
  const screen = onPty("wf", ["top"], { HOME: folder, NO_COLOR: "1", ...env });
  await screen.shows(/^0 runs ended in the last hour$/m);
  isDown = true;
  await screen.shows(/; retrying/);
  isDown = false;
  await screen.shows(/^0 runs ended in the last hour$/m);
  screen.type("q");
  expect(await screen.exit).toBe(0);
});

test("an error at the start is on the normal screen", async () => {
  const env = { ...sandbox.env, KB_PROFILE: "", KB_APP_KEY: "app-wrong" };
  const screen = onPty("wf", ["top"], { HOME: folder, NO_COLOR: "1", ...env });
  expect(await screen.exit).toBe(4);
  expect(screen.written()).not.toContain("\u001b[?1049h");
});

test("KB_ACCESSIBLE prints plain lines", async () => {
  const screen = top("slow", { KB_ACCESSIBLE: "1" });
  await screen.shows(/^\d\d:\d\d:\d\d \(.*\), \d runs? ended in the last hour/m);
  screen.type("\u0003");
  expect(await screen.exit).toBe(130);
  expect(screen.written()).not.toContain("\u001b");
});

test("without a keyboard it prints lines on a terminal", async () => {
  const line = `"${process.execPath}" "${bin("wf")}" --app slow top --timeout 2s < /dev/null`;
  const screen = commandOnPty("sh", ["-c", line], { HOME: folder, NO_COLOR: "1", ...sandbox.env });
  expect(await screen.exit).toBe(12);
  const [first] = await screen.lines();
  expect(first).toMatch(/^\d\d:\d\d:\d\d \(.*\), \d+ runs? ended in the last hour/);
  expect(screen.written()).not.toContain("\u001b[?1049h");
});

test("a pipe gets lines, or JSON, until the deadline", async () => {
  const env = { ...sandbox.env, HOME: folder };
  const lines = await built(["wf", "--app", "slow", "top", "--timeout", "2s"], env);
  expect(lines.exit).toBe(12);
  expect(lines.out).toMatch(/^# \d\d:\d\d:\d\d \(.*\), \d+ runs? ended in the last hour/);
  const json = await built(["wf", "--app", "slow", "top", "--timeout", "2s", "-o", "jsonl"], env);
  expect(JSON.parse(json.out)).toMatchObject({ last_hour: { failed: 0 } });
});
