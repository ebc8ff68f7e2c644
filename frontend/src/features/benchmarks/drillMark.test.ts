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

const running = { status: 'running', facts: {} } as const;
const ended = { status: 'completed', facts: { drill_action_uid: 'a' } } as const;

describe('drillText', () => {
  it('describes the target, the start and the duration', () => {
    expect(drillText({ ...running, drill: reboot })).toBe(
      'Reboot the node: node 2, at second 60 for 20 s',
    );
    expect(drillText({ ...ended, drill: kill })).toBe(
      'Kill one shard: redis:7 on node 1, at second 5',
    );
    expect(drillText({ ...running, drill: null })).toBeUndefined();
  });

  it('states that a drill did not take place', () => {
    const skipped = { ...ended, facts: {}, drill: reboot };
    expect(drillText(skipped)).toContain('(did not take place)');
    expect(drillMark(skipped, 200)).toBeUndefined();
  });
});

describe('drillMark', () => {
  it('is a band for drills with a duration, otherwise a line', () => {
    expect(drillMark({ ...running, drill: reboot }, 200)).toMatchObject({
      at: 260_000,
      until: 280_000,
    });
    expect(drillMark({ ...ended, drill: kill }, 200)).not.toHaveProperty('until');
  });

  it('is undefined before the measured phase and without a drill', () => {
    expect(drillMark({ ...running, drill: reboot }, undefined)).toBeUndefined();
    expect(drillMark({ ...running, drill: null }, 200)).toBeUndefined();
  });
});
