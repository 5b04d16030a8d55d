import { Parser } from "htmlparser2";
import { UnreadableFile } from "./limits.ts";

/** What to do with the elements and texts of a document, in their order; names have no prefix. */
interface Visitor {
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly close?: (name: string) => void;
  readonly text?: (text: string) => void;
}

/** The parser searches the open elements at each tag: many thousands would take it minutes. */
const MAX_DEPTH = 500;

const localName = (name: string) => name.slice(name.indexOf(":") + 1);

function walk(source: string, { open, close, text }: Visitor, xmlMode: boolean): void {
  let depth = 0;
  const visitor = {
    onopentag(name: string, attributes: Readonly<Record<string, string>>) {
      if (++depth > MAX_DEPTH) throw new UnreadableFile("its elements are nested too deeply");
      open?.(localName(name), attributes);
    },
    onclosetag(name: string) {
      depth--;
      close?.(localName(name));
    },
    ontext: (part: string) => text?.(part),
  };
  new Parser(visitor, { xmlMode, recognizeSelfClosing: true }).end(source);
}

/** Visits the elements and texts of XML; throws UnreadableFile if they are nested too deeply. */
export const walkXml = (source: string, visitor: Visitor): void => walk(source, visitor, true);

/** Visits those of HTML, whose elements need no end. */
export const walkHtml = (source: string, visitor: Visitor): void => walk(source, visitor, false);
