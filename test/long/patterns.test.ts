import { expect, test } from "vitest";
import { explosion, patterns } from "../patterns.ts";

test.each(patterns().map((each) => [each.where, each] as const))(
  "its work grows with the text and no faster: %s",
  (_, pattern) => expect(explosion(pattern, 20_000)).toBeUndefined(),
);
