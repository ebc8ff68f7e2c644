import { describe, expect, it } from 'vitest';
import { drillMark, drillText } from './drillMark';

const reboot = {
  kind: 'reboot',
  node_uid: 2,
  shard_uid: null,
  at_seconds: 60,
  seconds: 20,
} as const;
const kill = { kind: 'kill_shard', node_uid: 1, shard_uid: 7, at_seconds: 5, seconds: 20 } as const;

describe('drillText', () => {
  it('describes the target, the start and the duration', () => {
    expect(drillText({ drill: reboot })).toBe('Reboot the node: node 2, at second 60 for 20 s');
    expect(drillText({ drill: kill })).toBe('Kill one shard: redis:7 on node 1, at second 5');
    expect(drillText({ drill: null })).toBeUndefined();
  });
});

describe('drillMark', () => {
  it('is a band for drills with a duration, otherwise a line', () => {
    expect(drillMark({ drill: reboot }, 200)).toMatchObject({
      at: 260_000,
      until: 280_000,
    });
    expect(drillMark({ drill: kill }, 200)).not.toHaveProperty('until');
  });

  it('is undefined before the measured phase and without a drill', () => {
    expect(drillMark({ drill: reboot }, undefined)).toBeUndefined();
    expect(drillMark({ drill: null }, 200)).toBeUndefined();
  });
});
