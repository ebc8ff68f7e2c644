import { expect, it } from 'vitest';
import { ALARM_TYPES } from '@/features/alarms/alarmText';
import { parseMarkdown } from '@/features/guide/markdown';
import alarms from '../../../docs/guide/alarms.md?raw';

it('describes every alarm in the guide', () => {
  const described = new Set(
    parseMarkdown(alarms)
      .flatMap((block) => (block.kind === 'table' ? block.rows : []))
      .flatMap(([type = '']) => [...type.matchAll(/`(\w+)`/g)].map(([, name]) => name)),
  );
  expect(ALARM_TYPES.filter((type) => !described.has(type))).toEqual([]);
});
