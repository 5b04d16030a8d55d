/** Installs a package with an exact version or a range (`node@24.21.0`) and returns its directory. */
export function cachedPackage(
  name: string,
  version: string,
  options?: { readonly force?: boolean },
): string;
