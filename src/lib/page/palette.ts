/** The colors of one scheme: every ink has to be readable on every paper. */
export interface PageColors {
  /** Colors of texts, and of charts. */
  readonly ink: Readonly<Record<"text" | "dim" | "link" | "good" | "bad" | "warn", string>>;
  /** Colors behind texts. */
  readonly paper: Readonly<Record<"page" | "panel" | "good" | "bad" | "warn", string>>;
  /** Colors of lines, which carry no meaning. */
  readonly line: Readonly<Record<"thin" | "track", string>>;
}

/** The palette of pages, from which their style is made. */
export const pagePalette: Readonly<Record<"light" | "dark", PageColors>> = {
  light: {
    ink: {
      text: "#1f2328",
      dim: "#565d66",
      link: "#0a53b8",
      good: "#116329",
      bad: "#b3152a",
      warn: "#7d4a00",
    },
    paper: {
      page: "#ffffff",
      panel: "#f6f8fa",
      good: "#e3f6e8",
      bad: "#ffedeb",
      warn: "#fff5d6",
    },
    line: { thin: "#d1d9e0", track: "#e6eaef" },
  },
  dark: {
    ink: {
      text: "#e9eef4",
      dim: "#a3adb8",
      link: "#83bdff",
      good: "#5fd67a",
      bad: "#ff9c94",
      warn: "#e6b84d",
    },
    paper: {
      page: "#0d1117",
      panel: "#161b22",
      good: "#11271b",
      bad: "#32171a",
      warn: "#2c230f",
    },
    line: { thin: "#343b44", track: "#232a33" },
  },
};

/** The colors of a scheme as custom properties of CSS: `--ink-good:#116329;…`. */
const propertiesOf = (colors: PageColors): string =>
  Object.entries(colors)
    .flatMap(([kind, named]) =>
      Object.entries(named).map(([name, color]) => `--${kind}-${name}:${color};`),
    )
    .join("");

/** The palette as CSS: light, dark where the reader prefers it, and light on paper. */
export const paletteCss = (): string =>
  `:root{color-scheme:light dark;${propertiesOf(pagePalette.light)}}
@media screen and (prefers-color-scheme:dark){:root{${propertiesOf(pagePalette.dark)}}}
@media print{:root{color-scheme:light}}
`;
