import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fastClock } from "../lib/fast-clock.ts";
import { HELD_MS, heldClock } from "../lib/held-clock.ts";
import { commandOnPty, onPty } from "../lib/pty.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { bin } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** A sandbox of its own, whose runs are shown on a terminal. */
async function place() {
  const folder = await temporaryDirectory();
  const clock = heldClock(fastClock(1));
  const sandbox = await testSandbox({ clock });
  const env = { HOME: folder, NO_COLOR: "1", ...sandbox.env };
  return {
    folder,
    sandbox,
    env,
    /** Lets a run of `slow` that began with `untilPassed` end. */
    pass: () => clock.pass(1),
    top: (app: string, more: Readonly<Record<string, string>> = {}) =>
      onPty("wf", ["--app", app, "top"], { ...env, ...more }),
    async start(app: string, ...inputs: readonly string[]) {
      const flags = ["query=hello", ...inputs].flatMap((input) => ["--input", input]);
      const argv = ["wf", "--app", app, "run", ...flags, "--detach", "-o", "name"];
      return (await sandbox.done(argv)).out.trim();
    },
  };
}

/** A run of the application `slow` continues only when the test says so. */
const untilPassed = `seconds=${HELD_MS / 1000}`;

/** The cursor, the normal screen, and the cursor again if there was a spinner. */
const normalScreen = /<\[\?25h<\[\?1049l(<\[\?25h)?$/;

test.concurrent("runs are listed with their nodes, followed and left by keys, at 80 and 40 columns", async () => {
  const { start, top } = await place();
  const runs = [await start("slow", untilPassed), await start("slow", untilPassed)];
  const screen = top("slow");
  await screen.shows(/^> {2}running +\d:\d\d {2}Wait .*\n {3}running +\d:\d\d {2}Wait /m);
  await screen.shows(/^up\/down select {2}f follow {2}a answer {2}o open {2}\? keys {2}q quit$/m);
  screen.type("\u001b[B"); // down
  await screen.shows(/^ {3}running.*\n> {2}running/m);
  screen.type("f");
  await screen.shows(/^Run [0-9a-f-]{36} running\n(.*\n){2}succeeded .*Start\nrunning .*Wait/m);
  screen.resize(40, 12);
  screen.type("q");
  // The emulator keeps what is beyond its new width.
  await screen.shows(/^> {2}runn(.*\n)+up\/down .* answer\no open {2}\? keys {2}q quit/m);
  screen.type("q");
  expect(await screen.exit).toBe(0);
  // The normal screen is empty, as before.
  await screen.shows(/^\n*$/);
  expect(screen.written().replaceAll("\u001b", "<")).toMatch(normalScreen);
  for (const id of runs) expect(screen.written()).toContain(id.slice(0, 8));
});

test.concurrent("a followed run stays on the screen when it has ended", async () => {
  const { pass, start, top } = await place();
  const id = await start("slow", untilPassed);
  const screen = top("slow");
  await screen.shows(new RegExp(`^> {2}running .* Wait .*${id.slice(0, 8)}`, "m"));
  screen.type("f");
  await screen.shows(new RegExp(`^Run ${id} running\n`, "m"));
  pass();
  await screen.shows(new RegExp(`^Run ${id} succeeded\n(.*\n)+succeeded .*End$`, "m"));
  screen.type("qq");
  expect(await screen.exit).toBe(0);
});

test.concurrent("a form is answered on the normal screen; then the dashboard continues", async () => {
  const { sandbox, start, top } = await place();
  const id = await start("review");
  const screen = top("review");
  await screen.shows(/1 form waiting[^]*^> {2}paused .* Review .* approve, reject /m);
  screen.type("a");
  await screen.shows(/^Review \(1-3\):/m);
  screen.type("approve\r");
  await screen.shows(/\[looks fine\]:$/m);
  screen.type("\r");
  await screen.shows(/^the form was submitted$/m);
  await screen.shows(/^review {2}1 run ended in the last hour/m);
  screen.type("x");
  await screen.shows(/q quit$/m);
  screen.type("q");
  expect(await screen.exit).toBe(0);
  const { out } = await sandbox.cli(["wf", "--app", "review", "show", id, "--jq", ".status"]);
  expect(out).toBe("succeeded\n");
});

test.concurrent("o opens the page of the run in the browser", async () => {
  const { folder, env, start } = await place();
  const id = await start("review");
  const opened = join(folder, "opened");
  const browser = { KB_PROFILE: "", KB_APP_KEY: "app-review", BROWSER: `echo %s > ${opened}` };
  const screen = onPty("wf", ["top"], { ...env, ...browser });
  await screen.shows(new RegExp(`^> {2}paused .*${id.slice(0, 8)}`, "m"));
  screen.type("o");
  await screen.shows(new RegExp(`^opened the page of run ${id}$`, "m"));
  screen.type("q");
  expect(await screen.exit).toBe(0);
  expect(await readFile(opened, "utf8")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/app\/.*\/logs$/m);
});

test.concurrent("Ctrl-C restores the terminal and exits with 130", async () => {
  const { top } = await place();
  const screen = top("slow");
  await screen.shows(/q quit/);
  screen.type("\u0003");
  expect(await screen.exit).toBe(130);
  expect(await screen.lines()).toEqual(["error: interrupted"]);
});

/** The dashboard of an application with paused runs, which asks for the answer to one form. */
async function askedForm() {
  const { start, top } = await place();
  await start("review");
  const screen = top("review");
  await screen.shows(/^> {2}paused .*approve, reject /m);
  screen.type("a");
  await screen.shows(/\(1-3\):/m);
  return screen;
}

test.concurrent("Ctrl-D leaves a form unanswered", async () => {
  const screen = await askedForm();
  screen.type("\u0004");
  await screen.shows(/^the run stays paused$/m);
  screen.type("q");
  expect(await screen.exit).toBe(0);
});

test.concurrent("Ctrl-C and q leave a form unanswered, another Ctrl-C the dashboard", async () => {
  const screen = await askedForm();
  screen.type("\u0003");
  await screen.shows(/^the run stays paused$/m);
  screen.type("a");
  await screen.shows(/(\(1-3\):[^]*){2}/); // the normal screen still has the first prompt
  screen.type("q\r");
  await screen.shows(/^the run stays paused$/m);
  screen.type("\u0003");
  expect(await screen.exit).toBe(130);
  expect(await screen.lines()).toContain("error: interrupted");
});

test.concurrent("SIGTERM restores the terminal and exits with 143", async () => {
  const { top } = await place();
  const screen = top("slow");
  await screen.shows(/q quit/);
  process.kill(screen.pid, "SIGTERM");
  expect(await screen.exit).toBe(143);
  expect(await screen.lines()).toEqual(["error: interrupted"]);
});

test.concurrent("an error at the start is on the normal screen", async () => {
  const { env } = await place();
  const screen = onPty("wf", ["top"], { ...env, KB_PROFILE: "", KB_APP_KEY: "app-wrong" });
  expect(await screen.exit).toBe(4);
  expect(screen.written()).not.toContain("\u001b[?1049h");
});

test.concurrent("KB_ACCESSIBLE prints plain lines", async () => {
  const { top } = await place();
  const screen = top("slow", { KB_ACCESSIBLE: "1" });
  await screen.shows(/^\d\d:\d\d:\d\d \(.*\), .*\d runs? ended in the last hour/m);
  screen.type("\u0003");
  expect(await screen.exit).toBe(130);
  expect(screen.written()).not.toContain("\u001b");
});

test.concurrent("without a keyboard it prints lines on a terminal", async () => {
  const { env } = await place();
  const line = `"${process.execPath}" "${bin("wf")}" --app slow top --timeout 2s < /dev/null`;
  const screen = commandOnPty("sh", ["-c", line], env);
  expect(await screen.exit).toBe(12);
  const [first] = await screen.lines();
  expect(first).toMatch(/^\d\d:\d\d:\d\d \(.*\), .*\d+ runs? ended in the last hour/);
  expect(screen.written()).not.toContain("\u001b[?1049h");
});
