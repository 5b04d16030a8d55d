/** Ranges of private, local and other special IPv4 addresses, by their first bits. */
const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/3",
];

const bitsOf = (address: string): number =>
  address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

/**
 * Is it an address or name that may be reached from everywhere? Not this machine, a private network, or a name
 * without a dot. A name with a dot may have such an address all the same.
 */
export function isPublicAddress(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (/^\d+(\.\d+){3}$/.test(bare))
    return !special4.some((range) => {
      const [start = "", bits] = range.split("/");
      const size = 2 ** (32 - Number(bits));
      return Math.floor(bitsOf(bare) / size) === Math.floor(bitsOf(start) / size);
    });
  if (bare.includes(":")) {
    const mapped = /^::(?:ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1];
    if (mapped !== undefined) return isPublicAddress(mapped);
    return /^[23]/.test(bare); // global unicast
  }
  return bare.includes(".") && !/(^|\.)(localhost|local|internal|home\.arpa)\.?$/.test(bare);
}
