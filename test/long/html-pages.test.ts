/** The pages of all commands, by a checker of accessibility and in a browser if one is installed. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { beforeAll, describe, expect, test } from "vitest";
import { installedBrowser, openTab } from "../lib/browser.ts";
import type { Tab } from "../lib/browser.ts";
import { commandPages, markup } from "../lib/command-pages.ts";
import { evil } from "../lib/hostile-responses.ts";
import { axeViolations } from "../lib/opened-page.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const long = "unbroken".repeat(40);
/** Harmless texts, and texts that are long or would be markup. */
const pages = {
  plain: await commandPages(""),
  hostile: await commandPages(`${markup}${evil} ${long}`),
};
const sandbox = await testSandbox();
const address = new URL("/", sandbox.env["KB_BASE_URL"]).href;
const all = [
  ...Object.entries(pages).flatMap(([kind, made]) =>
    [...made].map(([command, html]) => ({ name: `${command}, ${kind}`, html })),
  ),
  { name: "kb sandbox", html: await (await fetch(address)).text() },
];

test.each(all)("$name: no violation of accessibility", async ({ html }) => {
  expect(all).toHaveLength(15);
  expect(await axeViolations(html, false)).toEqual([]);
  expect(await axeViolations(html, true)).toEqual([]);
});

/** Elements that reach over the edge of the page, unless they are in a part that scrolls. */
const tooWide = `(() => {
  const wide = document.documentElement.clientWidth;
  const scrolls = (element) => {
    for (let each = element.parentElement; each; each = each.parentElement)
      if (getComputedStyle(each).overflowX !== "visible") return true;
    return false;
  };
  const names = [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > wide + 0.5 && !scrolls(each))
    .map((each) => each.outerHTML.slice(0, 100));
  return document.documentElement.scrollWidth > wide ? ["the page", ...names] : names;
})()`;

const browser = installedBrowser();
if (browser === undefined)
  process.stderr.write("pages: not opened in a browser, because none is installed\n");

describe.skipIf(browser === undefined)("in a browser", () => {
  let tab: Tab;
  let folder = "";

  beforeAll(async () => {
    folder = await temporaryDirectory();
    tab = await openTab(browser ?? "");
  });

  async function open(name: string, html: string, width: number): Promise<string> {
    const path = join(folder, `${name.replace(/\W+/g, "-")}.html`);
    await writeFile(path, html);
    const { href } = pathToFileURL(path);
    await tab.send("Emulation.setDeviceMetricsOverride", {
      width,
      height: 900,
      deviceScaleFactor: 1,
      mobile: false,
    });
    tab.takeEvents();
    const loaded = tab.next("Page.loadEventFired");
    await tab.send("Page.navigate", { url: href });
    await loaded;
    return href;
  }

  async function press(key: string, text = ""): Promise<void> {
    await tab.send("Input.dispatchKeyEvent", {
      type: "keyDown",
      key,
      code: key,
      text,
      ...codes[key],
    });
    await tab.send("Input.dispatchKeyEvent", { type: "keyUp", key, code: key, ...codes[key] });
  }
  const codes: Readonly<Record<string, object>> = {
    Tab: { windowsVirtualKeyCode: 9 },
    Enter: { windowsVirtualKeyCode: 13 },
  };

  /** Presses Tab until an element that matches has the focus. */
  async function focus(selector: string): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      await press("Tab");
      const found = `document.activeElement.matches(${JSON.stringify(selector)})`;
      if (await tab.evaluate<boolean>(found)) return;
    }
    throw new Error(`no Tab reaches ${selector}`);
  }

  /** What the checker of accessibility finds, contrast included. */
  async function violations(): Promise<readonly string[]> {
    await tab.evaluate(axe.source);
    const found = `axe.run({ resultTypes: ["violations"] }).then(({ violations, passes }) =>
      passes.length === 0 ? ["no rule was applied"]
        : violations.map(({ id, nodes }) => id + ": " + nodes[0].html))`;
    return tab.evaluate<readonly string[]>(found);
  }

  const widths = all.flatMap((each) => [400, 800, 1400].map((width) => ({ ...each, width })));
  test.each(widths)(
    "$name at $width px: nothing is inaccessible, light or dark, folded or unfolded",
    async ({ name, html, width }) => {
      await open(name, html, width);
      for (const value of ["light", "dark"]) {
        const features = [{ name: "prefers-color-scheme", value }];
        await tab.send("Emulation.setEmulatedMedia", { features });
        await tab.evaluate(
          "for (const each of document.querySelectorAll('details')) each.open = !each.open",
        );
        expect(await violations(), value).toEqual([]);
      }
      await tab.send("Emulation.setEmulatedMedia", { features: [] });
    },
  );

  test.each(all.flatMap((each) => [360, 1280].map((width) => ({ ...each, width }))))(
    "$name at $width px: nothing is too wide, blocked, wrong or requested",
    async ({ name, html, width }) => {
      const href = await open(name, html, width);
      expect(await tab.evaluate(tooWide)).toEqual([]);
      await tab.evaluate(
        "for (const each of document.querySelectorAll('details')) each.open = true",
      );
      expect(await tab.evaluate(tooWide)).toEqual([]);
      if (html.includes("<script>"))
        expect(await tab.evaluate("document.documentElement.className")).toBe("scripted");
      expect(await tab.evaluate("document.title")).not.toBe("owned");
      const events = tab.takeEvents();
      const requests = events
        .filter(({ method }) => method === "Network.requestWillBeSent")
        .map(({ params }) => (params["request"] as { url: string }).url);
      expect(requests).toEqual([href]);
      const complaints =
        /^(Log\.entryAdded|Runtime\.(exceptionThrown|consoleAPICalled)|Network\.loadingFailed)$/;
      expect(events.filter(({ method }) => complaints.test(method))).toEqual([]);
    },
  );

  test("the checks see a page that is too wide or inaccessible, and a script that is blocked", async () => {
    const html = pages.plain.get("wf timeline") ?? "";
    const faulty = html
      .replace("</h1>", `${"x".repeat(900)}</h1><svg width="900" height="9"></svg><img>`)
      .replace("</main>", "<script>document.title = 'owned'</script></main>");
    await open("faulty", faulty, 360);
    expect(await tab.evaluate(tooWide)).toContain("the page");
    expect(await violations()).toContain("image-alt: <img>");
    expect(await tab.evaluate("document.title")).not.toBe("owned");
    const blocked = tab.takeEvents().filter(({ method }) => method === "Log.entryAdded");
    expect(JSON.stringify(blocked)).toContain("Content Security Policy");
  });

  test("the keyboard sorts and unfolds", async () => {
    await open("keys", pages.plain.get("wf timeline") ?? "", 1280);
    await focus("thead button");
    await press("Enter", "\r");
    expect(await tab.evaluate("document.querySelector('thead th').ariaSort")).toBe("ascending");
    await focus("button.fold");
    await press("Enter", "\r");
    expect(await tab.evaluate("document.querySelectorAll('details[open]').length")).toBe(1);
    expect(await tab.evaluate("document.activeElement.ariaExpanded")).toBe("true");
  });

  test("a label of a chart stands below its point", async () => {
    await open("labels", pages.plain.get("wf stats") ?? "", 1280);
    const isBelow = `[...document.querySelectorAll(".plane")].flatMap((plane) => {
      const { left, width } = plane.querySelector("svg").getBoundingClientRect();
      const cells = [...plane.querySelectorAll(".x > span")];
      return cells.flatMap((cell, at) => {
        const point = left + (width * (at + 0.5)) / cells.length;
        const label = cell.firstElementChild?.getBoundingClientRect();
        return label ? [label.left < point && point < label.right] : [];
      });
    })`;
    const found = await tab.evaluate<readonly boolean[]>(isBelow);
    expect(found.length).toBeGreaterThan(3);
    expect(found).not.toContain(false);
  });

  test("on paper everything is unfolded, also without scripts", async () => {
    await open("paper", pages.plain.get("wf timeline") ?? "", 1280);
    await tab.send("Emulation.setEmulatedMedia", { media: "print" });
    const heights =
      "[...document.querySelectorAll('details pre')].map((each) => each.offsetHeight)";
    const shown = await tab.evaluate<number[]>(heights);
    await tab.send("Emulation.setEmulatedMedia", { media: "" });
    expect(shown.length).toBeGreaterThan(3);
    expect(Math.min(...shown)).toBeGreaterThan(10);
  });
});
