import { beforeAll, test } from "vitest";
import { checkExample, examplesOf, prepareExamples } from "../lib/examples.ts";

beforeAll(prepareExamples);

test.each(await examplesOf())("%s", checkExample);
