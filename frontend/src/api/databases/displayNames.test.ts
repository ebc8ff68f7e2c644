import { describe, expect, it } from 'vitest';
import type { Bdb } from '../types';
import { isNameTaken, withDisplayNames } from './displayNames';

const bdb = (uid: number, name: string, status = 'active') => ({ uid, name, status }) as Bdb;

describe('names of databases', () => {
  it('contain the uid only if several databases have the name', () => {
    const shown = withDisplayNames([bdb(1, 'orders'), bdb(2, 'carts'), bdb(3, 'orders')]);
    expect(shown.map(({ name }) => name)).toEqual(['orders (uid 1)', 'carts', 'orders (uid 3)']);
  });

  it('mark temporary databases', () => {
    const drill = { ...bdb(4, 'drill-1'), internal: true };
    const named = [bdb(3, 'drill-1'), drill, { ...drill, uid: 5, name: 'drill-2' }];
    const shown = withDisplayNames(named).map(({ name }) => name);
    expect(shown).toEqual(['drill-1 (uid 3)', 'drill-1 (uid 4, temporary)', 'drill-2 (temporary)']);
  });

  it('are taken by other databases that are not being deleted', () => {
    const bdbs = [bdb(1, 'orders'), bdb(2, 'carts', 'delete-pending')];
    expect(isNameTaken('orders', bdbs)).toBe(true);
    expect(isNameTaken('orders', bdbs, 1)).toBe(false);
    expect(isNameTaken('carts', bdbs)).toBe(false);
    expect(isNameTaken('order', bdbs)).toBe(false);
  });
});
