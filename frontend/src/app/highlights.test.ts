import { describe, expect, it } from 'vitest';
import { cpuTone } from '@/api/alerting/alarmTones';
import type { LogEvent, Node } from '@/api/types';
import { activeAlarm } from '@/features/alarms/alarmText';
import { findProblems } from '@/features/overview/problems';

const NODES = [1, 2, 3].map(
  (uid) => ({ uid, status: 'active', agent_status: 'connected' }) as Node,
);
const BUSY = NODES.map(
  ({ uid }) =>
    ({
      type: 'alarm_node_cpu_utilization',
      time: '2026-01-01T00:00:00Z',
      severity: 'WARNING',
      node_uid: uid,
      threshold: 90,
    }) as unknown as LogEvent,
);

describe('highlighted figures', () => {
  it('are mentioned by the cluster status', () => {
    const highlighted = NODES.filter(({ uid }) => cpuTone(BUSY, uid));
    const problems = findProblems(
      NODES,
      [],
      [],
      [],
      BUSY.map((event) => activeAlarm(event, new Map())),
    );
    expect(highlighted.length).toBe(3);
    expect(problems.map(({ text, tone }) => [text, tone])).toEqual([
      ['The CPU usage of nodes 1, 2 and 3 is above 90%', 'attention'],
    ]);
  });
});
