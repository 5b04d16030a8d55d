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
  readonly file_upload?: Switch & { readonly allowed_file_types: readonly string[] };
}
