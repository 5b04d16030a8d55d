import { decodeUtf8 } from "../../lib/text.ts";

/**
 * The text of a text file. A byte order mark of UTF-8 stays in it, as on servers, one of UTF-16 does not. Servers guess
 * other encodings, anew for each file; here they all are cp1006, which a server took for that of a few words in Latin-1
 * (server §9.2).
 */
export function decodeFile(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text !== undefined) return text;
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return Buffer.from(bytes)
    .toString("latin1")
    .replace(/[\xa1-\xff]/g, guessed);
}

/** The characters of the bytes from A1 on in cp1006, in hexadecimal digits. */
const CHARACTERS = (
  "06f0 06f1 06f2 06f3 06f4 06f5 06f6 06f7 06f8 06f9 060c 061b 00ad 061f fe81 fe8d " +
  "fe8e fe8e fe8f fe91 fb56 fb58 fe93 fe95 fe97 fb66 fb68 fe99 fe9b fe9d fe9f fb7a " +
  "fb7c fea1 fea3 fea5 fea7 fea9 fb84 feab fead fb8c feaf fb8a feb1 feb3 feb5 feb7 " +
  "feb9 febb febd febf fec1 fec5 fec9 feca fecb fecc fecd fece fecf fed0 fed1 fed3 " +
  "fed5 fed7 fed9 fedb fb92 fb94 fedd fedf fee0 fee1 fee3 fb9e fee5 fee7 fe85 feed " +
  "fba6 fba8 fba9 fbaa fe80 fe89 fe8a fe8b fef1 fef2 fef3 fbb0 fbae fe7c fe7d"
).split(" ");

const guessed = (character: string): string =>
  String.fromCharCode(Number.parseInt(CHARACTERS[character.charCodeAt(0) - 0xa1] ?? "", 16));
