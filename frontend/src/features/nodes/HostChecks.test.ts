import { expect, it } from 'vitest';
import type { MachineCheck } from '@/api/types';
import { byUrgency, stateOf } from './HostChecks';

const check = (name: string, good: boolean, optional: boolean) =>
  ({ name, good, optional }) as MachineCheck;

it('lists problems before optional settings', () => {
  const checks = [check('a', true, false), check('b', false, true), check('c', false, false)];
  expect(checks.sort(byUrgency).map(({ name }) => name)).toEqual(['c', 'b', 'a']);
});

it('marks optional settings differently from problems', () => {
  expect(stateOf({ good: false, optional: false })).toEqual(['attention', 'Change']);
  expect(stateOf({ good: false, optional: true })).toEqual(['unknown', 'Optional']);
  expect(stateOf({ good: true, optional: true })).toEqual(['ok', 'OK']);
});
