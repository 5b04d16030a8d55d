import { expect, test } from "vitest";
import { ApiError, CliError } from "../../src/errors.ts";
import { SilentExit } from "../../src/commands/task/command-spec.ts";

const response = { status: 404, method: "GET", path: "/datasets" };

test("with() returns a copy and leaves the error as it is", () => {
  const cause = new Error("reset");
  const error = new ApiError("not-found", "no such tag", response, { cause, hint: "list them" });
  const copy = error.with({ hint: "create it", sideEffect: "none" }, "failed: no such tag");

  expect(error.message).toBe("no such tag");
  expect(error.info).toEqual({ cause, hint: "list them" });
  expect(copy).not.toBe(error);
  expect(copy.message).toBe("failed: no such tag");
  expect(copy.info).toEqual({ cause, hint: "create it", sideEffect: "none" });
});

test("a copy keeps the class, its fields, the stack and the cause", () => {
  const cause = new Error("reset");
  const error = new ApiError("not-found", "no such tag", response, { cause });
  const copy = error.with({ retryable: true });

  expect(copy).toBeInstanceOf(ApiError);
  expect(copy.response).toBe(response);
  expect(copy.kind).toBe("not-found");
  expect(copy.exit).toBe(3);
  expect(copy.stack).toBe(error.stack);
  expect(copy.cause).toBe(cause);
  expect(copy.message).toBe("no such tag");
  expect(Object.keys(copy)).toEqual(Object.keys(error));
});

test("a copy of a copy has the fields of both", () => {
  const error = new CliError("limited", "wait").with({ hint: "a" }).with({ isResult: true });
  expect(error.info).toEqual({ hint: "a", isResult: true });
  expect(new SilentExit(3).with({})).toBeInstanceOf(SilentExit);
});
