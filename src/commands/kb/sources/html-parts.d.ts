/** What is used of a document; the types of browsers are not loaded. */
interface HtmlElement {
  readonly nodeName: string;
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  remove(): void;
  querySelector(selector: string): HtmlElement | null;
  querySelectorAll(selector: string): ArrayLike<HtmlElement> & Iterable<HtmlElement>;
}

interface HtmlDocument extends HtmlElement {
  readonly body: HtmlElement;
  cloneNode(deep: boolean): HtmlDocument;
}

/** Packages without types, and the parts of them that are used. */
declare module "turndown/lib/turndown.browser.cjs.js" {
  export default class TurndownService {
    constructor(options: Readonly<Record<string, unknown>>);
    addRule(
      name: string,
      rule: {
        readonly filter: string | readonly string[] | ((node: HtmlElement) => boolean);
        readonly replacement: (content: string, node: HtmlElement) => string;
      },
    ): this;
    turndown(node: HtmlElement): string;
  }
}

declare module "linkedom" {
  export function parseHTML(html: string): { readonly document: HtmlDocument };
}

declare module "@mozilla/readability" {
  export class Readability {
    constructor(document: HtmlDocument, options: { readonly keepClasses: boolean });
    parse(): { readonly content?: string | null } | null;
  }
}
