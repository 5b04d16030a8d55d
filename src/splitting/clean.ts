/** What a process rule does to a text before it is split; steps have the API's names. */
export type CleaningSteps = readonly { readonly id: string; readonly enabled: boolean }[];

/**
 * A text without the characters that servers delete from every text (server §9.9): those before 1.16.1 delete
 * `ï`, `¿` and `¾`, too.
 */
export function deleteCharacters(text: string, deletesLetters: boolean): string {
  const kept = text.replaceAll("<|", "<").replaceAll("|>", ">").replace(DELETED, "");
  return deletesLetters ? kept.replace(/[ï¿¾]/g, "") : kept;
}

/**
 * Does the cleaning steps of a rule, as servers do before they split a text (server §9.9). Linear in the length of
 * the text, unlike patterns with the same meaning.
 */
export function cleanText(text: string, steps: CleaningSteps): string {
  const isEnabled = (id: string) => steps.some((step) => step.id === id && step.enabled);
  let result = text;
  if (isEnabled("remove_extra_spaces"))
    result = result.replace(/\n{3,}/g, "\n\n").replace(SPACES, " ");
  if (isEnabled("remove_urls_emails")) result = withoutUrls(withoutAddresses(result));
  return result;
}

// oxlint-disable-next-line no-control-regex -- these are what servers delete
const DELETED = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe]/g;
const SPACES = /[\t\f\r \u00a0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]{2,}/g;

/** Removes e-mail addresses: around each `@`, as far as their characters go. */
function withoutAddresses(text: string): string {
  let result = "";
  let done = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    let start = at;
    while (start > done && /[\w.+-]/.test(text.charAt(start - 1))) start--;
    const dot = endOfCharacters(text, at + 1, /[a-zA-Z0-9-]/);
    const end = endOfCharacters(text, dot + 1, /[a-zA-Z0-9.-]/);
    if (start === at || dot === at + 1 || text[dot] !== "." || end === dot + 1) continue;
    result += text.slice(done, start);
    done = end;
  }
  return result + text.slice(done);
}

/** Removes URLs up to the next space, except in Markdown links and images that no URL runs into. */
function withoutUrls(text: string): string {
  const links = markdownLinks(text);
  let result = "";
  let done = 0;
  let link = links.next();
  for (let at = nextUrl(text, 0); at >= 0; at = nextUrl(text, at)) {
    while (!link.done && link.value.end <= at) link = links.next();
    if (!link.done && link.value.start <= at) {
      at = link.value.end; // kept, with its link
      continue;
    }
    result += text.slice(done, at);
    for (done = at; done < text.length && !isSpace(text, done);) {
      // A link is one word for the server, whatever spaces it has.
      const isLink = !link.done && link.value.start === done;
      done = isLink && !link.done ? link.value.end : done + 1;
      if (isLink) link = links.next();
    }
    at = done;
  }
  return result + text.slice(done);
}

function nextUrl(text: string, from: number): number {
  for (let at = text.indexOf("http", from); at >= 0; at = text.indexOf("http", at + 1)) {
    const length = /^https?:\/\//.exec(text.slice(at, at + 8))?.[0].length;
    if (length !== undefined && at + length < text.length && !isSpace(text, at + length)) return at;
  }
  return -1;
}

function* markdownLinks(text: string): Generator<{ readonly start: number; readonly end: number }> {
  let close = -1;
  let end = -1;
  for (let start = text.indexOf("["); start >= 0; start = text.indexOf("[", start)) {
    // Positions found for an earlier bracket are kept: each character is looked at once.
    if (close < start) close = text.indexOf("]", start);
    if (close < 0) return;
    const address = /^\]\(https?:\/\//.exec(text.slice(close, close + 10))?.[0].length;
    const from = close + (address ?? 0);
    if (address !== undefined && end < from) end = text.indexOf(")", from);
    if (address !== undefined && end < 0) return;
    const isLink = address !== undefined && end > from;
    if (isLink) yield { start, end: end + 1 };
    start = isLink ? end + 1 : start + 1;
  }
}

/** The characters that servers strip and split words at: white space as Python knows it. */
// oxlint-disable-next-line no-control-regex -- Python strips these, too
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export const isSpace = (text: string, at: number): boolean => SPACE.test(text.charAt(at));

/** Where the characters of a class end, from a position on. */
export function endOfCharacters(text: string, from: number, characters: RegExp): number {
  let end = from;
  while (end < text.length && characters.test(text.charAt(end))) end++;
  return end;
}

/** A text without white space at its ends. */
export function strip(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text, end - 1)) end--;
  return text.slice(endOfCharacters(text.slice(0, end), 0, SPACE), end);
}
