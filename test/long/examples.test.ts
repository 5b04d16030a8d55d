import { test } from "vitest";
import { checkExample, examplesOf } from "../lib/examples.ts";

test.each(await examplesOf())("%s", checkExample);
