import * as annotations from "./annotations.ts";
import * as apps from "./apps.ts";
import * as audio from "./audio.ts";
import * as chats from "./chats.ts";
import * as completions from "./completions.ts";
import * as files from "./files.ts";
import * as forms from "./forms.ts";
import type { AnyOperation } from "./operation.ts";
import * as workflows from "./workflows.ts";

/** All rows that use an application key, by noun: the modules export nothing but rows. */
export const wfOperations: readonly AnyOperation[] = [
  workflows,
  forms,
  files,
  chats,
  completions,
  apps,
  audio,
  annotations,
].flatMap((rows) => Object.values(rows) as AnyOperation[]); // types are erased; rows remain
