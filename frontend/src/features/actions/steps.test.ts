import { describe, expect, it } from 'vitest';
import type { Action } from '@/api/types';
import { etaText, isCancellable, type Step, shownSteps } from './steps';

const step = (number: number, status: Step['status']): Step => ({
  name: `Move redis:${number}`,
  status,
});

const action = (status: Action['status'], info: object) =>
  ({ status, additional_info: info }) as Action;

describe('shownSteps', () => {
  it('lists few steps as they are', () => {
    const steps = [step(1, 'completed'), step(2, 'running')];
    expect(shownSteps(steps)).toEqual({ shown: steps, left: '' });
  });

  it('of many lists what runs or failed, and counts the rest', () => {
    const steps = [
      ...Array.from({ length: 10 }, (_, index) => step(index, 'completed')),
      step(10, 'failed'),
      step(11, 'running'),
      ...Array.from({ length: 8 }, (_, index) => step(12 + index, 'pending')),
    ];
    const { shown, left } = shownSteps(steps);
    expect(shown.map(({ name }) => name)).toEqual(['Move redis:10', 'Move redis:11']);
    expect(left.replaceAll('\u00a0', ' ')).toBe('10 of 20 steps done, 8 waiting');
  });
});

describe('etaText', () => {
  it('is silent when nobody knows', () => {
    expect(etaText(action('running', {}))).toBe('');
    expect(etaText(action('running', { eta_seconds: 75 })).replaceAll('\u00a0', ' ')).toBe(
      'about 1 min 15 s left',
    );
  });
});

describe('isCancellable', () => {
  it('ends with the action', () => {
    expect(isCancellable(action('running', { cancellable: true }))).toBe(true);
    expect(isCancellable(action('completed', { cancellable: true }))).toBe(false);
    expect(isCancellable(action('running', { cancellable: false }))).toBe(false);
  });
});
