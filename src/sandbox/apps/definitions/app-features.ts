/** A field of the input form. */
export interface InputField {
  readonly type:
    | "text-input"
    | "paragraph"
    | "select"
    | "number"
    | "checkbox"
    | "file"
    | "file-list";
  readonly variable: string;
  readonly label: string;
  readonly required?: boolean;
  readonly default?: string;
  /** Maximum number of characters, or of files. */
  readonly max_length?: number | null;
  readonly options?: readonly string[];
}

/** A feature that can be switched on. */
interface Switch {
  readonly enabled: boolean;
}

/** What an application offers beside its replies, by the names of `GET /parameters`. */
export interface AppFeatures extends Readonly<Record<string, unknown>> {
  readonly speech_to_text?: Switch;
  readonly text_to_speech?: Switch;
  readonly opening_statement?: string;
  readonly suggested_questions_after_answer?: Switch;
  readonly file_upload?: Switch &
    Readonly<Record<string, unknown>> & { readonly allowed_file_types: readonly string[] };
}

/** A tool of an agent; nothing is called: `sandbox` has what it would return. */
export interface Tool {
  /** The provider's name, as in its icon's address; new agents (server §18) have no icons. */
  readonly provider_id?: string;
  readonly tool_name: string;
  readonly sandbox: {
    /** The tool's name by language. */
    readonly label: Readonly<Record<string, string>>;
    readonly output: string;
  };
}

/** The settings of a basic application: a chat, a completion or an agent. */
export interface ModelConfig extends AppFeatures {
  readonly model: { readonly provider: string; readonly name: string };
  /** Instructions; `{{name}}` stands for an input. */
  readonly pre_prompt: string;
  /** Fields by their type, one in each object. */
  readonly user_input_form: readonly Readonly<
    Partial<Record<InputField["type"], Omit<InputField, "type">>>
  >[];
  /** The input to search for; empty for the message itself. */
  readonly dataset_query_variable?: string;
  readonly dataset_configs?: {
    readonly datasets: {
      /** IDs or names; `*` stands for all knowledge bases. */
      readonly datasets: readonly { readonly dataset: { readonly id: string } }[];
    };
    readonly top_k: number;
    readonly score_threshold_enabled: boolean;
    readonly score_threshold: number;
  };
  readonly agent_mode?: {
    readonly strategy: "function_call" | "react";
    readonly tools: readonly Tool[];
  };
}

/** The fields of the input form. */
export const inputFields = ({ user_input_form }: ModelConfig): InputField[] =>
  user_input_form.flatMap((control) =>
    Object.entries(control).map(([type, field]) => ({ ...field, type }) as InputField),
  );
