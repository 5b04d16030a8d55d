/** The name of a module, the file that imports it, and what that gets. */
export declare const replaced: readonly (readonly [name: string, by: string, code: string])[];

export declare function replacedAt(id: string, importer: string | undefined): number;
