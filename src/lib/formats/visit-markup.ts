import { Parser } from "htmlparser2";
import { UnreadableFile } from "./unreadable-file.ts";

/** The parser searches the open elements at each tag: many thousands would take it minutes. */
const MAX_DEPTH = 500;

/** What is done with the elements of a document; their names have no prefix. */
interface Visitor {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly close: (name: string) => void;
  readonly text: (part: string) => void;
}

/** Visits the elements of a document in order; throws UnreadableFile if they are nested too deeply. */
export function visitMarkup(source: string, isXml: boolean, { open, close, text }: Visitor): void {
  let depth = 0;
  const handler = {
    onopentag(name: string, attributes: Readonly<Record<string, string>>) {
      if (++depth > MAX_DEPTH) throw new UnreadableFile("its elements are nested too deeply");
      open(localName(name), attributes);
    },
    onclosetag(name: string) {
      depth--;
      close(localName(name));
    },
    ontext: text,
  };
  new Parser(handler, { xmlMode: isXml, recognizeSelfClosing: true }).end(source);
}

const localName = (name: string) => name.slice(name.indexOf(":") + 1);
