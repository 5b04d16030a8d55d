import { getDocument } from "../../../operations/documents.ts";
import {
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
  listMetadataFields,
  setDocumentMetadata,
} from "../../../operations/metadata.ts";
import { local, record } from "../../../operations/operation.ts";
import { dataset_id, required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

export const metadataSetParams = {
  dataset_id,
  document_id: local.ref("document", "Document name or ID", {
    many: true,
    required,
    placeholder: "doc",
    mustExist: true,
  }),
  set: local.text("Value as field=value", { placeholder: "field=value", many: true }),
  unset: local.text("Field to clear", { placeholder: "field", many: true }),
  replace: local.flag("Remove all other values"),
};

export const metadataSet = task({
  command: "kb metadata set <kb> <doc...>",
  tool: {},
  summary: "Set metadata values of documents",
  about:
    "Other values are kept unless --replace is set. The field determines the type of a value.\n\n--each takes a file with the column document and a column for each field; an empty cell keeps the\nvalue. The column unset names a field to clear, or in JSON Lines a list of fields. If a field has the\nname of an argument, set it in the column set, as field=value.",
  params: metadataSetParams,
  returns: setDocumentMetadata.returns,
  sends: [listMetadataFields, getDocument],
  wraps: setDocumentMetadata,
  effect: "writes",
  examples: [
    "kb metadata set Handbook welcome.md leave.md --set team=people",
    "kb metadata set Handbook welcome.md --unset team",
    "kb metadata set Handbook --where 'team does not exist' --set team=people --yes",
    "kb metadata set Handbook --each values.csv",
  ],
  each: { columns: "any" },
});

const switched = record<{ built_in_field_enabled: boolean }>("built_in_field_enabled");

const builtIn = (verb: "enable" | "disable", example: string) =>
  task({
    command: `kb metadata built-in ${verb} <kb>`,
    tool: {},
    summary: `${verb === "enable" ? "Enable" : "Disable"} the built-in metadata fields`,
    about: "The server reports success in any case, so the setting is read again afterwards.",
    params: { dataset_id },
    returns: switched,
    sends: [getMetadataOverview],
    wraps: verb === "enable" ? enableBuiltInFields : disableBuiltInFields,
    effect: "writes",
    examples: [`kb metadata built-in ${verb} Handbook`, example],
  });

export const enableBuiltIn = builtIn(
  "enable",
  "kb metadata built-in enable Handbook --jq .built_in_field_enabled",
);
export const disableBuiltIn = builtIn("disable", "kb metadata built-in disable Handbook --dry-run");
