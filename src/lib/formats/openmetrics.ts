/** Values of one metric; the unit is the end of its name. */
export interface MetricFamily {
  readonly name: string;
  readonly type: "gauge" | "counter" | "histogram";
  readonly help: string;
  readonly unit?: string;
  readonly samples: readonly MetricSample[];
}

/** A value; `suffix` is that of its name, such as `_bucket`. */
export interface MetricSample {
  readonly suffix?: string;
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly value: number;
}

/** The text of OpenMetrics 1.0, to its last line. */
export const openMetrics = (families: readonly MetricFamily[]): string =>
  [...families.flatMap(familyLines), "# EOF", ""].join("\n");

function familyLines({ name, type, help, unit, samples }: MetricFamily): string[] {
  const usual = type === "counter" ? "_total" : "";
  return [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${escaped(help)}`,
    ...samples.map(
      ({ suffix = usual, labels, value }) => `${name}${suffix}${labelText(labels)} ${value}`,
    ),
  ];
}

function labelText(labels: MetricSample["labels"]): string {
  const pairs = Object.entries(labels).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${escaped(value)}"`],
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));

/** The samples of a histogram: how many values are at most each bound, their number and their sum. */
export function histogram(
  values: Float64Array,
  bounds: readonly number[],
  labels: MetricSample["labels"],
): MetricSample[] {
  const buckets = [...bounds, Infinity].map((bound) => ({
    suffix: "_bucket",
    labels: { ...labels, le: bound === Infinity ? "+Inf" : bound.toFixed(1) },
    value: values.filter((value) => value <= bound).length,
  }));
  const sum = values.reduce((total, value) => total + value, 0);
  return [
    ...buckets,
    { suffix: "_count", labels, value: values.length },
    { suffix: "_sum", labels, value: sum },
  ];
}
