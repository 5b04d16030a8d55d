/** Errors of servers after 1.17.1 beside those that earlier ones send for the same (server §3.1). */
import { describe, expect, test } from "vitest";
import { against, http, say } from "../lib/raw-server.ts";

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const info = ["wf", "app", "info"];
const suggested = ["wf", "message", "suggested", id];
const withdraw = ["wf", "message", "feedback", id, "--withdraw"];
const base = ["kb", "show", id];

/** The words of a server: status and code, its message, the line and the exit code; the hint is that of each. */
interface Meaning {
  readonly name: string;
  readonly line: readonly string[];
  readonly exit: number;
  /** Our words in place of the server's text. */
  readonly text?: string;
  readonly hint: string;
  readonly forms: readonly (readonly [
    version: string,
    status: number,
    code: string,
    text: string,
  ])[];
}

const meanings: readonly Meaning[] = [
  {
    name: "a deleted application",
    line: info,
    exit: 4,
    hint: "the application of this key was deleted: use the key of another one",
    forms: [
      ["1.16.1", 403, "forbidden", "The app no longer exists."],
      ["1.18.0", 403, "app_not_found", "The app no longer exists."],
    ],
  },
  {
    name: "a suspended application",
    line: info,
    exit: 4,
    hint: "the application is suspended: contact the operator of the server",
    forms: [
      ["1.16.1", 403, "forbidden", "The app's status is abnormal."],
      ["1.18.0", 403, "app_abnormal_status", "The app's status is abnormal."],
    ],
  },
  {
    name: "an application without its API",
    line: info,
    exit: 4,
    hint: "switch on the API of the application in the console",
    forms: [
      ["1.16.1", 403, "forbidden", "The app's API service has been disabled."],
      ["1.18.0", 403, "app_api_disabled", "The app's API service has been disabled."],
    ],
  },
  {
    name: "a deleted workspace",
    line: info,
    exit: 4,
    hint: "the workspace of this key was deleted: use a key of another one",
    forms: [
      ["1.16.1", 400, "invalid_param", "Tenant does not exist."],
      ["1.16.1", 401, "unauthorized", "Tenant does not exist."],
      ["1.18.0", 403, "workspace_not_found", "Tenant does not exist."],
    ],
  },
  {
    name: "an archived workspace",
    line: info,
    exit: 4,
    hint: "the owner of the workspace can restore it; or use a key of another one",
    forms: [
      ["1.16.1", 403, "forbidden", "The workspace's status is archived."],
      ["1.18.0", 403, "workspace_archived", "The workspace's status is archived."],
    ],
  },
  {
    name: "suggested questions that are switched off",
    line: suggested,
    exit: 6,
    hint: "suggested questions are switched off in the features of the application; switch them on in the console and publish it",
    forms: [
      ["1.16.1", 400, "bad_request", "Suggested Questions Is Disabled."],
      [
        "1.18.0",
        403,
        "app_suggested_questions_after_answer_disabled",
        "Function Suggested questions after answer disabled.",
      ],
    ],
  },
  {
    name: "an agent that is not published",
    line: suggested,
    exit: 3,
    hint: "the agent has no published version: publish it in the console",
    forms: [
      ["1.16.1", 404, "agent_version_not_found_error", "Agent config version not found."],
      ["1.18.0", 404, "agent_version_not_found_error", "Agent config version not found."],
    ],
  },
  {
    name: "a model that fails",
    line: suggested,
    exit: 5,
    hint: "the model or its provider probably failed: check the model's settings in the workspace, or retry later",
    forms: [
      ["1.16.1", 400, "completion_request_error", "Token counting failed"],
      ["1.18.0", 400, "completion_request_error", "Token counting failed"],
    ],
  },
  {
    name: "a rating that does not exist",
    line: withdraw,
    exit: 5,
    hint: "this end user has not rated the message, so no rating can be withdrawn; --user names another one",
    forms: [
      ["1.16.1", 400, "invalid_param", "rating cannot be None when feedback not exists"],
      ["1.18.0", 400, "message_feedback_rating_required", "A rating is required."],
    ],
  },
  {
    name: "a key that has ended",
    line: base,
    exit: 4,
    hint: "the key was revoked, or ended with its only knowledge base: sign in again",
    forms: [["1.18.0", 401, "unauthorized", "Resource access token is invalid."]],
  },
  {
    name: "an application's key that has ended",
    line: info,
    exit: 4,
    hint: "the key was revoked, or ended with its only knowledge base: sign in again",
    forms: [["1.18.0", 401, "unauthorized", "Resource access token is invalid."]],
  },
  {
    name: "a knowledge base that the key does not open",
    line: base,
    exit: 4,
    text: "not opened by this key",
    hint: "the scope of a key cannot be changed: use another one",
    forms: [
      [
        "1.18.0",
        403,
        "forbidden",
        "Resource access token is not allowed to access this knowledge base.",
      ],
    ],
  },
  {
    name: "an application that the key does not open",
    line: info,
    exit: 4,
    text: "not opened by this key",
    hint: "the scope of a key cannot be changed: use another one",
    forms: [
      ["1.18.0", 403, "forbidden", "Resource access token is not allowed to access this app."],
    ],
  },
  {
    name: "a key of several applications without one",
    line: info,
    exit: 4,
    hint: "name the application by its ID: wf … --app ID; or store it: `wf login --app NAME=ID`",
    forms: [
      [
        "1.18.0",
        400,
        "bad_request",
        "App ID is required when a resource access token is bound to multiple apps.",
      ],
    ],
  },
];

const rows = meanings.flatMap(({ forms, ...meaning }) =>
  forms.map((form) => [meaning.name, ...form, meaning] as const),
);

test.each(rows)(
  "%s, by a server of %s: %d %s",
  async (_, version, status, code, message, { line, exit, text = message, hint }) => {
    const body = JSON.stringify({ code, message, status });
    const ran = await against([say(http(status, body, { "x-version": version }))], line);
    expect(ran.exit, ran.err).toBe(exit);
    expect(ran.err).toContain(`: ${text} (${status} ${code})\nhint: ${hint}\n`);
    expect(ran.requests).toHaveLength(1);
  },
);

/** An invalid field of `kb create A`: the validator's type and text, and what people read. */
const fields: readonly (readonly [
  type: string,
  field: string,
  text: string,
  words: string,
  hint: string | undefined,
])[] = [
  ["missing", "name", "Field required", "is required", "add <name>"],
  ["missing", "description", "Field required", "is required", "add --description"],
  ["string_type", "name", "Input should be a valid string", "must be text", "check <name>"],
  [
    "string_too_long",
    "name",
    "String should have at most 40 characters",
    "must have at most 40 characters",
    "check <name>",
  ],
  [
    "literal_error",
    "indexing_technique",
    "Input should be 'high_quality' or 'economy'",
    "must be 'high_quality' or 'economy'",
    "check --indexing-technique (one of: high_quality, economy)",
  ],
  [
    "int_parsing",
    "retrieval_model.top_k",
    "Input should be a valid integer, unable to parse string as an integer",
    "must be a whole number",
    "check --retrieval-model",
  ],
  [
    "greater_than_equal",
    "retrieval_model.top_k",
    "Input should be greater than or equal to 1",
    "must be greater than or equal to 1",
    "check --retrieval-model",
  ],
  [
    "bool_parsing",
    "other",
    "Input should be a valid boolean, unable to interpret input",
    "must be true or false",
    undefined,
  ],
  ["list_type", "other", "Input should be a valid list", "must be a list", undefined],
  [
    "too_short",
    "tags",
    "List should have at least 1 item after validation, not 0",
    "must have at least 1 item after validation, not 0",
    undefined,
  ],
  ["dict_type", "other", "Input should be a valid dictionary", "must be an object", undefined],
  ["value_error", "name", "Value error, no such sign", "no such sign", "check <name>"],
  ["new_type", "name", "Name is odd", "Name is odd", "check <name>"],
];

const page = "https://errors.pydantic.dev/2.12/v";

type Invalid = (typeof fields)[number];

/** The body of a server after 1.17.1. */
const asList = (invalid: readonly Invalid[]): string => {
  const list = invalid.map(([type, field, msg]) => {
    return { type, loc: field.split("."), msg, input: { x: 1 }, url: `${page}/${type}` };
  });
  const message = JSON.stringify(list);
  return JSON.stringify({ code: "unprocessable_entity", message, status: 422 });
};

/** The body of a server before. */
const asText = (invalid: readonly Invalid[]): string => {
  const lines = invalid.flatMap(([type, field, msg]) => [
    field,
    `  ${msg} [type=${type}, input_value={'x': 1}, input_type=dict]`,
    `    For further information visit ${page}/${type}`,
  ]);
  const first = `${invalid.length} validation error${invalid.length === 1 ? "" : "s"}`;
  const message = [`${first} for DatasetCreatePayload`, ...lines].join("\n");
  return JSON.stringify({ code: "invalid_param", message, status: 400 });
};

describe.each([
  ["1.18.0", 422, "unprocessable_entity", asList],
  ["1.16.1", 400, "invalid_param", asText],
])("a server of %s", (version, status, code, bodyOf) => {
  const create = (invalid: readonly Invalid[], ...flags: readonly string[]) =>
    against(
      [say(http(status, bodyOf(invalid), { "x-version": version }))],
      ["kb", "create", "A", ...flags],
    );

  test.each(fields)("%s of %s is said in words: %s", async (...invalid) => {
    const [, field, , words, hint] = invalid;
    const ran = await create([invalid]);
    expect(ran.exit, ran.err).toBe(5);
    const next = hint === undefined ? "" : `hint: ${hint}\n`;
    const label = `(${status} ${code})`;
    expect(ran.err).toBe(
      `error: failed to create knowledge base A: ${field}: ${words} ${label}\n${next}`,
    );
  });

  test("several invalid fields have a line each; JSON has them as fields", async () => {
    const [, , , long, technique] = fields;
    const invalid = [long, technique].filter((each) => each !== undefined);
    const ran = await create(invalid);
    expect(ran.err).toBe(
      [
        `error: failed to create knowledge base A: 2 invalid fields (${status} ${code})`,
        "  name: must have at most 40 characters",
        "  indexing_technique: must be 'high_quality' or 'economy'",
        "hint: check <name>",
        "",
      ].join("\n"),
    );
    const json = await create(invalid, "-o", "json");
    const { error } = JSON.parse(json.err) as { readonly error: Record<string, unknown> };
    expect(error).toMatchObject({
      server_code: code,
      http_status: status,
      changed: "nothing",
      details: {
        fields: [
          { field: "name", reason: "must have at most 40 characters" },
          { field: "indexing_technique", reason: "must be 'high_quality' or 'economy'" },
        ],
      },
    });
  });
});

test("the part of the request before the path of a field is not its name", async () => {
  const list = [{ type: "missing", loc: ["body", "name"], msg: "Field required", input: {} }];
  const message = JSON.stringify(list);
  const body = JSON.stringify({ code: "unprocessable_entity", message, status: 422 });
  const ran = await against([say(http(422, body))], ["kb", "create", "A"]);
  expect(ran.err).toContain("name: is required (422 unprocessable_entity)\nhint: add <name>\n");
});
