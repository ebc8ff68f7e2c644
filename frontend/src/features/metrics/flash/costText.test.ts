import { expect, it } from 'vitest';
import type { RamCurve } from '@/api/types';
import { amountText, savingText } from './costText';

const GB = 1e9;
const costs: RamCurve['costs'] = {
  currency: 'EUR per month',
  node_ram: 512 * 2 ** 30,
  node_flash: 2 ** 41,
  ram_only: { ram: 1500 * GB, flash: 0, nodes: 3, amount: 6000 },
  now: { ram: 250 * GB, flash: 1250 * GB, nodes: 1, amount: 3600 },
  node_factor: 3,
  saving: 0.4,
};

it('compares nodes and cost', () => {
  const text = savingText(costs, 0.91);
  expect(text).toContain('RAM only needs 3\u00a0nodes instead of 1 (3 times as many).');
  expect(text).toContain('RAM only costs 6,000.00 EUR per month, flash 3,600.00 (40% less).');
  expect(text).toContain('Measured RAM hit ratio with flash: 91%.');
});

it('compares only nodes without prices', () => {
  const text = savingText({ ...costs, currency: null, saving: null }, null);
  expect(text).toContain('instead of 1');
  expect(text).not.toContain('costs');
});

it('states that the number of nodes is the same', () => {
  const same = { ...costs, ram_only: { ...costs.ram_only, nodes: 1 }, node_factor: 1 };
  expect(savingText(same, null)).toContain('needs 1\u00a0node, also with all values in RAM.');
});

it('reports that flash costs more', () => {
  expect(savingText({ ...costs, saving: -0.25 }, null)).toContain('(25% more)');
});

it('reports unknown nodes', () => {
  const unknown = { ...costs, now: { ...costs.now, nodes: null, amount: null } };
  expect(savingText(unknown, null)).toContain('have no flash');
  expect(amountText(null)).toBe('–');
});
