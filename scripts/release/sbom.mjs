// What the programs contain, as CycloneDX 1.6 in JSON: the packages in the bundle, and the Node.js of the single file.
// It has no addresses.

/** Heading of a package in LICENSES.txt: `undici 7.30.2 (MIT)`. */
const heading = /^(\S+) (\d\S*) \(([^)]+)\)$/gm;

/** The text of the SBOM; `licences` is dist/LICENSES.txt, `node` the version in the single file and the .deb. */
export function sbom({ name, version, description, license, epoch, node }, licences) {
  const packages = [...licences.matchAll(heading)].map(
    ([, packageName, packageVersion, terms]) => ({
      type: "library",
      "bom-ref": purlOf(packageName, packageVersion),
      name: packageName,
      version: packageVersion,
      licenses: [licenceOf(terms)],
      purl: purlOf(packageName, packageVersion),
    }),
  );
  if (packages.length === 0) throw new Error("LICENSES.txt names no package");
  const runtime = `pkg:generic/node@${node}`;
  const components = [
    ...packages,
    {
      type: "platform",
      "bom-ref": runtime,
      name: "node",
      version: node,
      description: "Node.js, in the single file and the .deb only",
      licenses: [licenceOf("MIT")],
      purl: runtime,
    },
  ];
  const ref = purlOf(name, version);
  const bom = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": ref,
        name,
        version,
        description,
        licenses: [licenceOf(license)],
        purl: ref,
      },
    },
    components,
    dependencies: [
      { ref, dependsOn: components.map((component) => component["bom-ref"]) },
      ...components.map((component) => ({ ref: component["bom-ref"] })),
    ],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

const purlOf = (name, version) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** A single SPDX identifier, or an expression of several. */
const licenceOf = (terms) =>
  / (OR|AND|WITH) /.test(terms) ? { expression: terms } : { license: { id: terms } };
