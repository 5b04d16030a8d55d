import * as annotations from "./annotations.ts";
import * as apps from "./apps.ts";
import * as audio from "./audio.ts";
import * as chats from "./chats.ts";
import * as completions from "./completions.ts";
import * as files from "./files.ts";
import * as forms from "./forms.ts";
import type { AnyOperation } from "./operation.ts";
import * as workflows from "./workflows.ts";

/** Every row that takes an application key, noun by noun: a module exports rows and nothing else. */
export const wfOperations: readonly AnyOperation[] = [
  workflows,
  forms,
  files,
  chats,
  completions,
  apps,
  audio,
  annotations,
].flatMap((rows) => Object.values(rows) as AnyOperation[]); // types are gone at run time; rows remain
