// Reads in a thread (in-thread.ts) what a site sends, since some texts keep these packages busy for ever. Plain
// JavaScript: Node starts it from the sources, too.
import { parentPort } from "node:worker_threads";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import robotsParser from "robots-parser";
import Turndown from "turndown/lib/turndown.browser.cjs.js";

/** Tags inside each other; pages have some dozens. */
const MAX_DEPTH = 256;

/** What is never part of the text. */
const clutter =
  "script,style,noscript,template,nav,aside,form,iframe,button,svg,[hidden],[aria-hidden=true]";

function attempt(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/**
 * Converts the main text of an HTML page to Markdown: what the page marks as such, or what Readability takes for
 * it. Headings, lists, tables, code and links are kept; links are made absolute with `url`.
 */
function pageOf(html, url) {
  const { document } = parseHTML(/<html/i.test(html) ? html : `<html><body>${html}</body></html>`);
  checkDepth(document);
  const title = text(document.querySelector("title"));
  const base = absolute(document.querySelector("base")?.getAttribute("href") ?? "", url) ?? url;
  const links = new Set();
  for (const link of document.querySelectorAll("a[href]")) {
    const target = absolute(link.getAttribute("href") ?? "", base);
    if (target === undefined) continue;
    link.setAttribute("href", target);
    links.add(target.replace(/#.*$/s, ""));
  }
  for (const image of document.querySelectorAll("img[src]"))
    image.setAttribute("src", absolute(image.getAttribute("src") ?? "", base) ?? "");
  const heading = text(document.querySelector("h1"));
  const [main] =
    ["main,[role=main]", "article"]
      .map((selector) => [...document.querySelectorAll(selector)])
      .find((found) => found.length === 1) ?? [];
  const body = main ?? readable(document) ?? document.body;
  for (const each of body.querySelectorAll(clutter)) each.remove();
  const markdown = converter().turndown(body).trim();
  const name = heading || title;
  const starts = /^#{1,6} /m.test(markdown.slice(0, 200));
  return {
    markdown: markdown === "" || starts || name === "" ? markdown : `# ${name}\n\n${markdown}\n`,
    metadata: title === "" ? {} : { title },
    links: [...links],
  };
}

/** Throws for tags that are nested too deeply: the packages need the cube of the depth. */
function checkDepth(root) {
  let depth = 0;
  for (let node = root.firstChild; node;) {
    if (node.firstChild) {
      node = node.firstChild;
      if (++depth > MAX_DEPTH) throw new Error(`its tags are nested more than ${MAX_DEPTH} deep`);
      continue;
    }
    while (node && !node.nextSibling) {
      node = node.parentNode;
      depth--;
    }
    node = node?.nextSibling;
  }
}

const text = (node) => (node?.textContent ?? "").replace(/\s+/g, " ").trim();

/** An address of the web; undefined for any other. */
function absolute(href, base) {
  const url = attempt(() => new URL(href, base || undefined));
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** The main text of a page that does not mark it. */
function readable(document) {
  const copy = document.cloneNode(true);
  const article = attempt(() => new Readability(copy, { keepClasses: true }).parse());
  if (!article?.content) return undefined;
  return parseHTML(`<html><body>${article.content}</body></html>`).document.body;
}

const oneLine = (content) =>
  content
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join(" ");

function converter() {
  return new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" })
    .addRule("plain code", {
      filter: (node) => node.nodeName === "PRE" && !node.querySelector("code"),
      replacement: (_, node) =>
        `\n\n\`\`\`\n${(node.textContent ?? "").replace(/\n$/, "")}\n\`\`\`\n\n`,
    })
    .addRule("cell", {
      filter: ["th", "td"],
      replacement: (content) => ` ${oneLine(content).replaceAll("|", "\\|")} |`,
    })
    .addRule("row", { filter: "tr", replacement: (content) => `|${content}\n` })
    .addRule("part of a table", {
      filter: ["thead", "tbody", "tfoot"],
      replacement: (content) => content,
    })
    .addRule("table", {
      filter: "table",
      replacement(content, node) {
        const [first = "", ...rows] = content.split("\n").filter((line) => line.startsWith("|"));
        const columns = node.querySelector("tr")?.querySelectorAll("th,td").length ?? 1;
        return `\n\n${[first, `|${" --- |".repeat(columns)}`, ...rows].join("\n")}\n\n`;
      },
    });
}

/** Which of these pages a robots.txt allows to an agent, and the seconds between requests that it asks for. */
function rulesOf({ robots, url, agent, pages }) {
  const rules = robotsParser(url, robots);
  return {
    allowed: pages.filter((page) => rules.isAllowed(page, agent) !== false),
    delay: rules.getCrawlDelay(agent) ?? 0,
  };
}

parentPort?.on("message", ({ html, url, ...more }) => {
  try {
    parentPort.postMessage(html === undefined ? rulesOf({ url, ...more }) : pageOf(html, url));
  } catch (error) {
    parentPort.postMessage({ problem: String(error?.message ?? error) });
  }
});
