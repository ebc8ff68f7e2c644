/** Texts about nodes and cost. Pure. */
import type { RamCurve } from '@/api/types';
import { format, plural, roundSignificant } from '@/lib/format';

export const amountText = (amount: number | null): string =>
  amount === null
    ? '–'
    : amount.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** Compare RAM only with the current RAM limit, such as "RAM only needs 3 nodes instead of 1 (3 times as many)." */
export function savingText(costs: RamCurve['costs'], measured: number | null): string {
  const { ram_only: ramOnly, now, currency, node_factor: factor, saving } = costs;
  if (ramOnly.nodes === null || now.nodes === null) {
    return 'The nodes of this cluster have no flash, or their size is unknown.';
  }
  const times = factor === null ? '' : ` (${roundSignificant(factor)} times as many)`;
  const nodes =
    ramOnly.nodes === now.nodes
      ? `the database needs ${plural(now.nodes, 'node')}, also with all values in RAM.`
      : `RAM only needs ${plural(ramOnly.nodes, 'node')} instead of ${now.nodes}${times}.`;
  const parts = [
    `On nodes with ${format('bytes', costs.node_ram)} of RAM and ${format('bytes', costs.node_flash)} of flash, ${nodes}`,
  ];
  if (currency !== null && ramOnly.amount !== null && now.amount !== null) {
    parts.push(
      `RAM only costs ${amountText(ramOnly.amount)} ${currency}, flash ${amountText(now.amount)}${savedText(saving)}.`,
    );
  }
  if (measured !== null)
    parts.push(`Measured RAM hit ratio with flash: ${format('ratio', measured)}.`);
  return parts.join(' ');
}

function savedText(saving: number | null): string {
  if (saving === null) return '';
  return ` (${format('ratio', Math.abs(saving))} ${saving < 0 ? 'more' : 'less'})`;
}
