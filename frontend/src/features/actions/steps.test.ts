import { describe, expect, it } from 'vitest';
import type { Action } from '@/api/types';
import { etaText, isCancellable, listedSteps, type Step } from './steps';

const step = (number: number, status: Step['status']): Step => ({
  name: `Move redis:${number}`,
  status,
});

const action = (status: Action['status'], info: object) =>
  ({ status, additional_info: info }) as Action;

describe('listedSteps', () => {
  it('lists all steps if there are few', () => {
    const steps = [step(1, 'completed'), step(2, 'running')];
    expect(listedSteps(steps)).toEqual({ listed: steps, summary: '' });
  });

  it('lists only running and failed steps if there are many, and counts the others', () => {
    const steps = [
      ...Array.from({ length: 10 }, (_, index) => step(index, 'completed')),
      step(10, 'failed'),
      step(11, 'running'),
      ...Array.from({ length: 8 }, (_, index) => step(12 + index, 'pending')),
    ];
    const { listed, summary } = listedSteps(steps);
    expect(listed.map(({ name }) => name)).toEqual(['Move redis:10', 'Move redis:11']);
    expect(summary.replaceAll('\u00a0', ' ')).toBe('10 of 20 steps completed, 8 pending');
  });
});

describe('etaText', () => {
  it('is empty without an estimate', () => {
    expect(etaText(action('running', {}))).toBe('');
    expect(etaText(action('running', { eta_seconds: 75 })).replaceAll('\u00a0', ' ')).toBe(
      'about 1 min 15 s remaining',
    );
  });
});

describe('isCancellable', () => {
  it('is true only for running actions that can be cancelled', () => {
    expect(isCancellable(action('running', { cancellable: true }))).toBe(true);
    expect(isCancellable(action('completed', { cancellable: true }))).toBe(false);
    expect(isCancellable(action('running', { cancellable: false }))).toBe(false);
  });
});
