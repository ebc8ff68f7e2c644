/** Cells of CSV files. Pure. */

/** Return a cell. Spreadsheets do not execute texts that start like a formula; numbers stay numbers. */
export function csvCell(value: unknown): string {
  const text = String(value);
  const isFormula = typeof value === 'string' && /^[=+\-@\t\r]/.test(text);
  const shown = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
