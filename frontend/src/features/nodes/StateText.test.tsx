// @dom
import { render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Node } from '@/api/types';
import { StateText } from './StateText';

const node = (part: Partial<Node>) =>
  ({ uid: 2, status: 'active', agent_status: 'connected', ...part }) as Node;
const stateText = (part: Partial<Node>) => {
  render(
    <p data-testid="state">
      <StateText node={node(part)} />
    </p>,
  );
  return screen.getByTestId('state').textContent?.replaceAll('\u00a0', ' ');
};

describe('StateText', () => {
  beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-03-01T04:00:41Z') }));
  afterEach(() => vi.useRealTimers());

  it.each<[Partial<Node>, string]>([
    [{}, 'Active'],
    [
      { status: 'down', agent_status: 'lost', unavailable_since: '2026-03-01T04:00:00Z' },
      'Down for 41 s',
    ],
    [
      { agent_status: 'lost', unavailable_since: '2026-03-01T03:00:41Z' },
      'Agent has not responded for 1 h',
    ],
    [{ agent_status: 'lost' }, 'Agent does not respond'],
  ])('%j', (part, text) => {
    expect(stateText(part)).toBe(text);
  });
});
