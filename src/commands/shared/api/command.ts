import { local } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

export const apiParams = {
  method: local.text("GET (default), POST, PUT, PATCH or DELETE"),
  path: local.text("Path below the base URL, e.g. /datasets", { required }),
  raw_field: local.text("Field as text: name=value", {
    placeholder: "name=value",
    many: true,
    short: "f",
  }),
  field: local.text("Typed field: true, false, null, a number or @file", {
    many: true,
    short: "F",
  }),
  input: local.content("File with the request body, - for stdin"),
  header: local.text("Additional header: 'Name: value'", {
    placeholder: "name: value",
    many: true,
  }),
  include: local.flag("Include the response status and headers", { short: "i" }),
  all: local.flag("Read every page of a list"),
};

export const api = task({
  command: "api [method] <path>",
  action: "send request",
  meant: ["curl", "request"],
  summary: "Send a request to any path below the base URL",
  about:
    "Fields become the query of a GET request and the JSON body of others. kb sends the knowledge key,\nwf the application key.",
  params: apiParams,
  sendsRequests: "the request you specify",
  confirms: true,
  effect: "writes",
  examples: [
    "kb api /datasets -f limit=1",
    "kb api /datasets --all --jq '.[].name'",
    "kb api POST /datasets -f name=Handbook -f indexing_technique=economy",
  ],
});
