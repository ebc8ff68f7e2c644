import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import { oldAddresses } from './words';

const bdb = (old: { addr: string; until: string }[]) =>
  ({ endpoints: [{ port: 12000, old_addr: old }] }) as unknown as Bdb;

describe('oldAddresses', () => {
  it('tells until when they answer', () => {
    expect(oldAddresses(bdb([{ addr: '10.0.0.1', until: '2026-01-01T10:20:30Z' }]), 'utc')).toEqual(
      [
        '10.0.0.1:12000 answers until 10:20:30, unless its node leaves earlier; clients must change',
      ],
    );
  });

  it('has nothing to tell where all addresses stay', () => {
    expect(oldAddresses(bdb([]), 'utc')).toEqual([]);
  });
});
