/** The stand-in models of the sandbox: pure, and equal for equal input. */
import { describe, expect, test } from "vitest";
import { embed, similarity } from "../../src/sandbox/models/words.ts";
import {
  type Completion,
  LanguageModel,
  type Prompt,
} from "../../src/sandbox/models/language-model.ts";
import { Marks } from "../../src/sandbox/models/marks.ts";
import { ModelError } from "../../src/sandbox/models/marks.ts";
import { rerank } from "../../src/sandbox/knowledge/retrieval/rank.ts";
import { speak, transcribe } from "../../src/sandbox/apps/inputs.ts";
import { sentencesOf } from "../../src/sandbox/models/words.ts";

const clock = { now: () => new Date(0), sleep: () => Promise.resolve() };
const model = () => new LanguageModel(clock, () => 0.5);

/** The pieces of a reply, and how it ended. */
async function said(prompt: Prompt, by = model()) {
  const stream = by.stream(prompt);
  const pieces: string[] = [];
  try {
    for (;;) {
      const { done, value } = await stream.next();
      if (done) return { pieces, completion: value as Completion };
      pieces.push(value);
    }
  } catch (error) {
    return { pieces, error: error as ModelError };
  }
}

describe("marks", () => {
  test.each([
    ["[[words:8]] please", "words", "8", "please"],
    ["[[say:two\nlines]]", "say", "two\nlines", ""],
    ["[[error:mid-rate]] [[words:3]]", "error", "mid-rate", ""],
    ["[[nothing:1]] stays", "say", undefined, "[[nothing:1]] stays"],
  ] as const)("%j", (text, name, value, rest) => {
    const marks = new Marks(text);
    expect([marks.text(name), marks.rest]).toEqual([value, rest]);
  });
});

describe("the language model", () => {
  test.each<[string, Prompt, string[]]>([
    ["words", { user: "[[words:3]]" }, ["word1 ", "word2 ", "word3"]],
    ["a text", { user: "[[say:one two]]" }, ["one ", "two"]],
    ["nothing", { user: "[[empty]]" }, []],
    ["characters", { user: "[[say:é👍🏽]][[pieces:1]]" }, ["é", "👍", "🏽"]],
    [
      "the sentence that fits",
      {
        user: "How many days of leave?",
        passages: ["Trains are booked.", "Leave: 30 days. Ask early."],
      },
      ["Leave: ", "30 ", "days."],
    ],
    [
      "by a schema",
      {
        user: "go",
        schema: {
          type: "object",
          properties: {
            name: { type: "string" },
            age: { type: "integer" },
            tags: { type: "array", items: { type: "string" } },
          },
        },
      },
      ['{"name":"name","age":1,"tags":["tags","tags"]}'],
    ],
  ])("says %s", async (_what, prompt, pieces) => {
    expect((await said(prompt)).pieces).toEqual(pieces);
  });

  test("counts four characters a token, and prices them", async () => {
    const { completion } = await said({ system: "You are a stub.", user: "[[words:8]]" });
    expect(completion?.usage).toMatchObject({
      prompt_tokens: 7, // 26 characters
      completion_tokens: 12, // 47 characters
      total_tokens: 19,
      prompt_price: "0.0000035",
      completion_price: "0.0000180",
      total_price: "0.0000215",
    });
  });

  test.each([
    ["[[error:rate]]", 0, "Rate limit reached for stub-chat: 3 requests per minute"],
    ["[[error:mid-auth]] [[words:8]]", 3, "Incorrect API key provided"],
    ["[[error:nonsense]]", 0, "req_id: 8000000000 PluginInvokeError"],
  ])("fails with %s after %i pieces", async (user, pieces, text) => {
    const reply = await said({ user });
    expect(reply.pieces).toHaveLength(pieces);
    expect(reply.error?.message).toContain(text);
  });

  test("breaks as often as a flaky ID says, then succeeds", async () => {
    const one = model();
    const user = "[[flaky:2-a]] [[words:5]]";
    const lengths: number[] = [];
    for (let call = 0; call < 3; call++) lengths.push((await said({ user }, one)).pieces.length);
    expect(lengths).toEqual([3, 3, 5]);
  });

  test("makes titles, questions and summaries", () => {
    expect(model().title("leave?")).toBe("About leave?");
    expect(model().questions("One. Two!")).toEqual([
      { question: "What is said in sentence 1?", answer: "One." },
      { question: "What is said in sentence 2?", answer: "Two!" },
    ]);
    expect(model().summary("One. Two.")).toBe("Summary: One.");
    expect(() => model().title("[[inner-error:rate]] x")).toThrow(ModelError);
  });
});

describe("embedding", () => {
  const near = (a: string, b: string) => similarity(embed(a, 256), embed(b, 256));

  test.each([
    ["paid leave", "paid leave", 0.999, 1.001],
    ["holidays", "holiday", 0.5, 1],
    ["anual leav", "annual leave", 0.4, 1],
    ["有給休暇は何日", "大阪支社の有給休暇は年に二十日です", 0.15, 1],
    ["zebra crossing", "coffee machine", -0.2, 0.2],
    ["", "leave", 0, 0],
  ])("%j is as near to %j as %f to %f", (a, b, least, most) => {
    expect(near(a, b)).toBeGreaterThanOrEqual(least);
    expect(near(a, b)).toBeLessThanOrEqual(most);
  });

  test("fails where its mark asks for it", () => {
    expect(() => embed("[[embed-error:unavailable]]", 64)).toThrow(
      "The engine is currently overloaded",
    );
  });
});

test("rerank scores by the share of words", () => {
  expect(rerank("paid leave", ["Leave is paid.", "leave", "coffee"])).toEqual([1, 0.5, 0]);
});

test.each([
  ["One. Two? Three", ["One.", "Two?", "Three"]],
  ["二週間前。申請します", ["二週間前。", "申請します"]],
  ["Version 1.14.2 is out", ["Version 1.14.2 is out"]],
  ["", []],
])("sentences of %j", (text, sentences) => {
  expect(sentencesOf(text)).toEqual(sentences);
});

test("speech is a WAV whose length grows with the words", () => {
  const bytes = speak("Good morning, everybody.");
  expect(new TextDecoder("latin1").decode(bytes.subarray(0, 4))).toBe("RIFF");
  expect(bytes.byteLength).toBe(44 + 2400); // three words of 0.1 s at 8,000 samples a second
  expect(() => speak("[[tts-error:rate]]")).toThrow("Rate limit reached");
});

test("a transcript is the name of the file", () => {
  const bytes = new TextEncoder().encode("ID3");
  expect(transcribe({ name: "voice-note_1.mp3", bytes })).toBe("voice note 1");
  const marked = new TextEncoder().encode("ID3 [[stt-error:auth]]");
  expect(() => transcribe({ name: "a.mp3", bytes: marked })).toThrow("Incorrect API key");
});
