/** Notices cells that a spreadsheet would take for formulas, to say so once when all is printed. */
export function formulaWatch(notice: (text: string) => Promise<void>) {
  let met = false;
  return {
    onFormula: () => {
      met = true;
    },
    async tell(): Promise<void> {
      if (!met) return;
      await notice(
        "some cells begin like formulas (=, +, -, @): use --safe-cells if a spreadsheet opens the output",
      );
    },
  };
}
