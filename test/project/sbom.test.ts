import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { expect, test } from "vitest";
import { sbom } from "../../scripts/release/sbom.mjs";
import { root } from "../lib/paths.ts";

const licences = readFileSync(join(root, "dist", "LICENSES.txt"), "utf8");
const { name, version, description, license } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as Readonly<Record<"name" | "version" | "description" | "license", string>>;
const about = { name, version, description, license, epoch: 1_795_780_800, node: "24.21.0" };
const text = sbom(about, licences);
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);

test("the list of what a release contains is valid CycloneDX", async () => {
  expect(await validator.validate(text)).toBeNull();
});

test("the schema rejects a license that SPDX does not have", async () => {
  expect(await validator.validate(text.replace('"id": "MIT"', '"id": "MTI"'))).not.toBeNull();
});
