// @dom
import { act, render, screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { CardTable } from './CardTable';

it('becomes a list of cards with labels when it is narrow', () => {
  let measure: ((width: number) => void) | undefined;
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(private readonly report: (entries: unknown[]) => void) {}
      observe() {
        measure ??= (width) => this.report([{ contentRect: { width } }]);
      }
      disconnect() {}
    },
  );
  render(
    <CardTable
      label="Fruit"
      head={['name']}
      columns={[
        { id: 'count', header: 'Count', cell: ({ count }) => count },
        { id: 'name', header: 'Name', sort: ({ name }) => name, cell: ({ name }) => name },
      ]}
      rows={[
        { name: 'pears', count: 2 },
        { name: 'apples', count: 5 },
      ]}
      rowKey={({ name }) => name}
      initialSort={{ id: 'name' }}
    />,
  );
  expect(screen.getByRole('table', { name: 'Fruit' })).toBeTruthy();
  act(() => measure?.(390));
  const cards = within(screen.getByRole('list', { name: 'Fruit' })).getAllByRole('listitem');
  expect(cards.map(({ textContent }) => textContent)).toEqual(['applesCount5', 'pearsCount2']);
  act(() => measure?.(900));
  expect(screen.getByRole('table', { name: 'Fruit' })).toBeTruthy();
});
