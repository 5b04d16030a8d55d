import { test } from "vitest";
import { checkPage, runnablePages } from "../lib/pages.ts";

test.each(runnablePages)("the commands of %s print what it shows", checkPage);
