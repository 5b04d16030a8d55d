/** Version of Node and platform: `v20.19.0 linux-x64`. */
export const platform = `${process.version} ${process.platform}-${process.arch}`;
