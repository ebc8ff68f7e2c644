import { describe, expect, it } from 'vitest';
import type { Action } from '@/api/types';
import { filterActions, resultText, timelineSpan } from './actionLog';

const action = (uid: string, fields: Partial<Action> = {}): Action => ({
  action_type: 'task',
  action_uid: uid,
  name: `name-${uid}`,
  originator: 'ann@example.org',
  creation_time: 1_000,
  finish_time: 1_010,
  progress: 100,
  status: 'completed',
  additional_info: {
    cancellable: false,
    description: '',
    object_type: 'bdb',
    object_uid: 1,
    steps: [],
  },
  ...fields,
});
const uids = (actions: Action[]) => actions.map(({ action_uid }) => action_uid);

describe('filterActions', () => {
  const { finish_time: _, ...running } = action('running', {
    status: 'running',
    creation_time: 900,
  });
  const all = [
    action('old'),
    action('new', { creation_time: 1_005, originator: 'bob@example.org' }),
    action('failed', { status: 'failed', creation_time: 950 }),
    running,
  ];

  it('lists running actions first, then the newest', () => {
    expect(uids(filterActions(all, {}))).toEqual(['running', 'new', 'old', 'failed']);
  });

  it('filters by status', () => {
    expect(uids(filterActions(all, { status: 'running' }))).toEqual(['running']);
    expect(uids(filterActions(all, { status: 'failed' }))).toEqual(['failed']);
  });

  it('filters by the words of the title and the user', () => {
    expect(uids(filterActions(all, { text: 'BOB' }))).toEqual(['new']);
    expect(uids(filterActions(all, { text: 'name ann old' }))).toEqual(['old']);
  });
});

describe('resultText', () => {
  const steps = [
    { name: 'Copy', status: 'completed' as const },
    { name: 'Switch', status: 'failed' as const },
  ];
  const withInfo = (status: Action['status'], info: object) =>
    resultText(
      action('1', {
        status,
        progress: 40,
        additional_info: { ...action('1').additional_info, ...info },
      }),
    ).replaceAll('\u00a0', ' ');

  it('is the error of a failed action', () => {
    expect(withInfo('failed', { error: 'Node 2 does not respond.', steps })).toBe(
      'Node 2 does not respond.',
    );
  });

  it('counts the steps', () => {
    expect(withInfo('completed', { steps: steps.slice(0, 1) })).toBe('1 step');
    expect(withInfo('cancelled', { steps })).toBe('1 of 2 steps completed');
    expect(withInfo('cancelled', {})).toBe('Ended at 40%');
    expect(withInfo('completed', {})).toBe('');
  });
});

describe('timelineSpan', () => {
  it('covers a finished action with a margin', () => {
    expect(timelineSpan(action('7'))).toEqual({
      event: 'action:7',
      from: 970,
      to: 1_040,
      res: undefined,
    });
    expect(timelineSpan(action('7', { finish_time: 2_000 }))).toMatchObject({
      from: 750,
      to: 2_250,
    });
  });

  it('follows a running action', () => {
    const { finish_time: _, ...running } = action('7');
    expect(timelineSpan(running)).toEqual({ event: 'action:7' });
  });
});
