/** The part of jsdom that the tests of pages use; it has no types of its own. */
declare module "jsdom" {
  export class VirtualConsole {
    on(event: "jsdomError", listener: (error: Error) => void): void;
  }

  export class JSDOM {
    constructor(
      html: string,
      options:
        | {
            readonly runScripts: "outside-only" | "dangerously";
            readonly virtualConsole: VirtualConsole;
            /** Frames are requested as in a browser. */
            readonly pretendToBeVisual: boolean;
            readonly url?: string;
          }
        | { readonly contentType: "image/svg+xml" },
    );
    readonly window: PageWindow;
  }

  export interface PageWindow {
    readonly document: PageDocument;
    readonly Event: new (type: string) => object;
    readonly KeyboardEvent: new (
      type: string,
      init: { readonly key: string; readonly bubbles: boolean; readonly cancelable: boolean },
    ) => object;
    eval(script: string): unknown;
    setTimeout(callback: (value?: unknown) => void): void;
    requestAnimationFrame(callback: (value?: unknown) => void): void;
    dispatchEvent(event: object): void;
    close(): void;
  }

  interface PageParent {
    querySelector(selector: string): PageElement | null;
    querySelectorAll(selector: string): Iterable<PageElement> & { readonly length: number };
  }

  export interface PageDocument extends PageParent {
    readonly title: string;
    readonly body: PageElement;
    readonly activeElement: PageElement | null;
    getElementById(id: string): PageElement | null;
  }

  export interface PageElement extends PageParent {
    readonly id: string;
    readonly tagName: string;
    readonly textContent: string;
    readonly open: boolean;
    readonly attributes: Iterable<{ readonly name: string; readonly value: string }>;
    getAttribute(name: string): string | null;
    hasAttribute(name: string): boolean;
    closest(selector: string): PageElement | null;
    click(): void;
    focus(): void;
    dispatchEvent(event: object): void;
  }
}
