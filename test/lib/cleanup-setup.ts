// Runs before each test file.
import { afterAll } from "vitest";
import { cleanUp } from "./cleanup.ts";

afterAll(cleanUp);
