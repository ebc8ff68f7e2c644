import { describe, expect, it } from 'vitest';
import { type CreateDraft, EMPTY_DRAFT } from './createDraft';
import { draftRisks } from './draftRisks';

const SAFE: CreateDraft = {
  ...EMPTY_DRAFT,
  replication: true,
  durability: 'aof-second',
  password: 'sesame',
  eviction_policy: 'allkeys-lru',
};
const risks = (part: Partial<CreateDraft>, nameTaken = false) =>
  draftRisks({ ...SAFE, ...part }, nameTaken).join('\n');

describe('draftRisks', () => {
  it('is empty for a replicated, persistent database with a password', () => {
    expect(risks({})).toBe('');
  });

  it.each([
    [{ replication: false, durability: 'none' } as const, /^No replicas and no persistence:.*lost/],
    [{ replication: false }, /^No replicas:.*unavailable/],
    [{ durability: 'none' } as const, /^No persistence:/],
    [{ password: '' }, /^No password:/],
    [{ eviction_policy: 'volatile-lru' } as const, /^The eviction policy volatile-lru/],
    [{ eviction_policy: 'noeviction' } as const, /^No eviction:/],
  ])('warns about %j', (part, text) => {
    expect(risks(part)).toMatch(text);
  });

  it('does not warn about eviction without a memory limit', () => {
    expect(risks({ memory: 0, eviction_policy: 'volatile-lru' })).toBe('');
  });

  it('warns about a duplicate name', () => {
    expect(risks({}, true)).toBe('Another database has the same name.');
  });
});
