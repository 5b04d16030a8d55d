/** Pages of `-o html`, as a browser, a validator and a checker of accessibility see them. */
import axe from "axe-core";
import { HtmlValidate } from "html-validate";
import { JSDOM, VirtualConsole } from "jsdom";
import type { PageWindow } from "jsdom";

/** Opens a page. With `scripts`, its script runs, and so would any other; errors of it are thrown. `url` is its address. */
export function openedPage(html: string, scripts = false, url?: string): PageWindow {
  const virtualConsole = new VirtualConsole();
  virtualConsole.on("jsdomError", (error) => {
    if (!error.message.startsWith("Not implemented")) throw error;
  });
  const { window } = new JSDOM(html, {
    runScripts: scripts ? "dangerously" : "outside-only",
    virtualConsole,
    pretendToBeVisual: true,
    ...(url !== undefined && { url }),
  });
  return window;
}

const validator = new HtmlValidate({
  root: true,
  extends: ["html-validate:recommended", "html-validate:document", "html-validate:a11y"],
  rules: { "long-title": "off" }, // it counts the characters of the source, where < is &lt;
});

/** What is invalid in a page: rule, place and message. */
export async function invalidParts(html: string): Promise<string[]> {
  const { results } = await validator.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, line, message }) => `${ruleId} in line ${line}: ${message}`),
  );
}

/** Violations of the rules of accessibility, each with its first element; contrast is computed elsewhere. */
export async function axeViolations(html: string, scripts: boolean): Promise<string[]> {
  const window = openedPage(html, scripts);
  window.eval(axe.source);
  const { violations, passes } = await (window as unknown as { axe: typeof axe }).axe.run({
    resultTypes: ["violations"],
    rules: { "color-contrast": { enabled: false } },
  });
  if (passes.length === 0) throw new Error("no rule was applied");
  window.close();
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`);
}

/** Texts of the elements that match. */
export const textsOf = (window: PageWindow, selector: string): string[] =>
  [...window.document.querySelectorAll(selector)].map(({ textContent }) => textContent);
