/** What a list is about: the package, its time in seconds since the epoch, and the Node.js of the single file. */
export interface Contents {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly epoch: number;
  readonly node: string;
}

export function sbom(contents: Contents, licences: string): string;
