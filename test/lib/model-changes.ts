import { PROVIDER, type ModelAccess } from "../../src/sandbox/models/catalog.ts";

const withoutCredentials = ({ disabled, withoutCredentials: providers }: ModelAccess) => {
  disabled.clear();
  providers.add(PROVIDER);
};

/** What an administrator did before a recorded exchange; the APIs are replayed one by one. */
const changes: Readonly<Record<string, (models: ModelAccess) => void>> = {
  // exchanges of knowledge bases
  "models of kind llm, one disabled": ({ disabled }) => disabled.add("stub-chat"),
  "search, embedding model disabled": ({ disabled }) => disabled.add("stub-embed-64"),
  "models of kind llm, provider without credentials": withoutCredentials,
  "disable a document": (models) => models.withoutCredentials.delete(PROVIDER),
  // exchanges of applications
  "completion, model disabled, blocking": ({ disabled }) => disabled.add("stub-chat"),
  "completion, provider without credentials": withoutCredentials,
};

/** Changes the models as before this exchange of the recording `model-change`. */
export const changeModels = (name: string, models: ModelAccess): void =>
  changes[name.replace(/^(1\.16\/)?model-change: /, "")]?.(models);
