/** Which text the bytes of a page are, in the order of the HTML standard. Expected texts are those of Python's codecs. */
import { expect, test } from "vitest";
import { decodePage } from "../../../src/commands/kb/sources/charset.ts";

const leave = "休暇は二十日です";
/** The label, the text in that encoding as hex, and the text. */
const texts: readonly (readonly [string, string, string])[] = [
  ["shift_jis", "8b7889c982cd93f18f5c93fa82c582b7", leave],
  ["x-sjis", "8b7889c982cd93f18f5c93fa82c582b7", leave],
  ["euc-jp", "b5d9b2cba4cfc6f3bdbdc6fca4c7a4b9", leave],
  ["iso-2022-jp", "1b24423559324b244f46733d3d467c244724391b2842", leave],
  ["gbk", "c4eabcd9ceaab6fecaaeccec", "年假为二十天"],
  ["gb2312", "c4eabcd9ceaab6fecaaeccec", "年假为二十天"],
  ["gb18030", "c4eabcd9ceaab6fecaaeccec95328236", "年假为二十天𠀀"],
  ["big5", "a67eb0b2acb0a447a451a4d1", "年假為二十天"],
  ["euc-kr", "c8deb0a1b4c220c0ccbdca20c0cf", "휴가는 이십 일"],
  ["ks_c_5601-1987", "8c63b9e6b0a2c7cf", "똠방각하"],
  ["windows-1251", "cef2eff3f1ea20323020e4ede5e9", "Отпуск 20 дней"],
  ["koi8-r", "efd4d0d5d3cb20323020c4cec5ca", "Отпуск 20 дней"],
  ["iso-8859-1", "436166e920846e61ef766594209620352080", "Café „naïve” – 5 €"],
  ["latin1", "436166e920846e61ef766594209620352080", "Café „naïve” – 5 €"],
  ["utf-8", "e4bc91e69a87e381afe4ba8ce58d81e697a5e381a7e38199", leave],
];
const bytes = (hex: string, head = "", tail = "") =>
  new Uint8Array(Buffer.concat([Buffer.from(head), Buffer.from(hex, "hex"), Buffer.from(tail)]));

test.each(texts)("%s in the header, the page, http-equiv and a declaration", (label, hex, text) => {
  const decoded = (head: string, type = "text/html", tail = "") =>
    decodePage(bytes(hex, head, tail), type, true).slice(head.length);
  expect(decoded("", `text/html; charset=${label}`)).toBe(text);
  expect(decoded("", `text/html;Charset="${label.toUpperCase()}"; x=y`)).toBe(text);
  expect(decoded(`<!-- <meta charset=utf-16> --><head><meta charset="${label}"><p>`)).toBe(text);
  const pragma = `<META HTTP-EQUIV='Content-Type' content='text/html; charset=${label}'>`;
  expect(decoded(pragma)).toBe(text);
  expect(decoded(pragma.replace(";", ""), "")).toBe(text);
  expect(decoded(`<?xml version="1.0" encoding='${label}'?><p>`, "application/xml")).toBe(text);
});

const utf16 = { le: "114f87666f308c4e4153e56567305930", be: "4f116687306f4e8c534165e530673059" };
const sjis = "8b7889c982cd93f18f5c93fa82c582b7";
test.each<[string, Uint8Array, string, string | RegExp]>([
  ["a mark of UTF-16LE", bytes(`fffe${utf16.le}`), "text/html; charset=utf-8", leave],
  ["a mark of UTF-16BE", bytes(`feff${utf16.be}`), "", leave],
  ["a mark of UTF-8 before the header", bytes("efbbbfc3a9"), "text/html; charset=gbk", "é"],
  ["UTF-16 in the header", bytes(utf16.le), "text/html; charset=utf-16le", leave],
  ["the header before the page", bytes("c3a9", "<meta charset=gbk>"), "a/b;charset=utf-8", /é$/],
  ["UTF-16 in a meta is UTF-8", bytes("c3a9", "<meta charset=utf-16>"), "text/html", /é$/],
  ["x-user-defined is windows-1252", bytes("80", "<meta charset=x-user-defined>"), "", /€$/],
  [
    "an unknown header: the page",
    bytes(sjis, "<meta charset=sjis>"),
    "a;charset=nonsense",
    /です$/,
  ],
  ["an unknown one: UTF-8", bytes("c3a9", "<meta charset=nonsense>"), "text/html", /é$/],
  ["the first known meta", bytes(sjis, "<meta charset=x><meta charset=sjis>"), "", /です$/],
  ["a meta without a type is none", bytes("c3a9", "<meta content='charset=gbk'>"), "", /é$/],
  ["a meta behind 1,024 bytes", bytes("c3a9", `${" ".repeat(1024)}<meta charset=gbk>`), "", /é$/],
  ["a sign of the page itself", bytes("efbfbd", "a"), "text/html", "a\ufffd"],
])("%s", (_, given, type, text) => {
  expect(decodePage(given, type, true)).toEqual(
    typeof text === "string" ? text : expect.stringMatching(text),
  );
});

test("a text without markup declares nothing", () => {
  expect(decodePage(bytes("c3a9", "<meta charset=gbk>"), "text/plain", false)).toMatch(/é$/);
});

test.each<[string, Uint8Array, string, string]>([
  ["legacy text without a label", bytes(sjis), "text/html", "not valid UTF-8"],
  [
    "another encoding than its label",
    bytes("ff80"),
    "text/html; charset=euc-jp",
    "not valid EUC-JP",
  ],
  ["bytes that gbk has not", bytes("ff", "<meta charset=gb2312>"), "", "not valid GBK"],
  ["a cut character", bytes("e4bc"), "", "not valid UTF-8"],
  ["UTF-16 without a mark", bytes("3c0070003e006100"), "text/html", "NUL characters"],
  ["an encoding that browsers refuse", bytes("41"), "text/html; charset=iso-2022-kr", "not valid"],
])("%s cannot be decoded", (_, given, type, problem) => {
  expect(() => decodePage(given, type, true)).toThrow(problem);
});
