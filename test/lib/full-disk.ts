import { diskFiles } from "../../src/host/node-files.ts";

/** A disk on which a number of writes find a place. */
export function fullAfter(left: number): Pick<typeof diskFiles, "writeAtomic" | "append"> {
  const full = Object.assign(new Error("full"), { code: "ENOSPC", path: "disk" });
  let writes = 0;
  const limited =
    <A extends unknown[]>(write: (...given: A) => Promise<void>) =>
    (...given: A): Promise<void> =>
      writes++ < left ? write(...given) : Promise.reject(full);
  return { writeAtomic: limited(diskFiles.writeAtomic), append: limited(diskFiles.append) };
}
