import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import { oldAddresses } from './endpointText';

const bdb = (old: { addr: string; until: string }[]) =>
  ({ endpoints: [{ port: 12000, old_addr: old }] }) as unknown as Bdb;

describe('oldAddresses', () => {
  it('shows until when they work', () => {
    expect(oldAddresses(bdb([{ addr: '10.0.0.1', until: '2026-01-01T10:20:30Z' }]), 'utc')).toEqual(
      [
        '10.0.0.1:12000 (works until 10:20:30, unless its node is shut down or removed earlier; update your clients)',
      ],
    );
  });

  it('is empty if no address changed', () => {
    expect(oldAddresses(bdb([]), 'utc')).toEqual([]);
  });
});
