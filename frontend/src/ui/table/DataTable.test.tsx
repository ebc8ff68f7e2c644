// @dom
import { act, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { printing } from '@/lib/printing';
import { setZone } from '@/lib/time';
import { DataTable } from './DataTable';
import { MAX_RENDERED_ROWS } from './useVirtualRows';

const HEIGHT = 600;

function page(count: number, overflowY: 'auto' | 'visible' = 'auto') {
  const rows = Array.from({ length: count }, (_, at) => at + 1);
  render(
    <main style={{ overflowY }}>
      <DataTable
        label="Numbers"
        columns={[
          {
            id: 'n',
            header: 'Number',
            cell: (row) => <button type="button">{row}</button>,
            sort: (row) => row,
          },
        ]}
        rows={rows}
        rowKey={(row) => row}
      />
    </main>,
  );
  return screen.getByRole('main');
}

const shown = () =>
  screen
    .getAllByRole('row')
    .slice(1)
    .map((row) => Number(row.textContent));

describe('DataTable', () => {
  beforeEach(() => {
    vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(33);
    vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(HEIGHT);
    vi.spyOn(HTMLElement.prototype, 'scrollHeight', 'get').mockReturnValue(1_001 * 33);
    // The rows scroll with the content of the page.
    vi.spyOn(HTMLTableSectionElement.prototype, 'getBoundingClientRect').mockImplementation(
      () => ({ top: -screen.getByRole('main').scrollTop }) as DOMRect,
    );
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('renders all rows of a short table', () => {
    page(MAX_RENDERED_ROWS);
    expect(shown()).toHaveLength(MAX_RENDERED_ROWS);
  });

  it('renders only the visible rows of a long table, with the total row count', () => {
    const main = page(1_000);
    expect(shown()[0]).toBe(1);
    expect(shown().length).toBeLessThan(60);
    expect(screen.getByRole('table').getAttribute('aria-rowcount')).toBe('1001');
    Object.defineProperty(main, 'scrollTop', { value: 500 * 33, configurable: true });
    act(() => {
      fireEvent.scroll(main);
    });
    expect(shown()).toContain(510);
    expect(shown()).not.toContain(1);
    expect(screen.getByText('510').closest('tr')?.getAttribute('aria-rowindex')).toBe('511');
  });

  it('renders the visible rows of a long table that the window scrolls', () => {
    const main = page(1_000, 'visible');
    expect(shown()[0]).toBe(1);
    expect(shown().length).toBeLessThan(60);
    Object.defineProperty(main, 'scrollTop', { value: 500 * 33, configurable: true });
    vi.spyOn(window, 'scrollY', 'get').mockReturnValue(500 * 33);
    act(() => {
      fireEvent.scroll(window);
    });
    expect(shown()).toContain(510);
    expect(shown()).not.toContain(1);
  });

  it('renders all rows of a long table on paper', () => {
    page(1_000);
    act(() => printing.set(true));
    expect(shown()).toHaveLength(1_000);
    act(() => printing.set(false));
    expect(shown().length).toBeLessThan(60);
  });

  it('keeps the row with the keyboard focus while scrolling', () => {
    const main = page(1_000);
    screen.getByRole('button', { name: '3' }).focus();
    Object.defineProperty(main, 'scrollTop', { value: 500 * 33, configurable: true });
    act(() => {
      fireEvent.scroll(main);
    });
    expect(shown()).toContain(510);
    expect(shown()[0]).toBe(3);
    expect(document.activeElement?.textContent).toBe('3');
    const spacers = [...document.querySelectorAll<HTMLElement>('tbody tr[aria-hidden] td')];
    const total = spacers.reduce((sum, { style }) => sum + Number.parseFloat(style.height), 0);
    expect(total + shown().length * 33).toBe(1_000 * 33);
  });

  it('sorts all rows, not only the visible ones', () => {
    page(1_000);
    const head = screen.getByRole('button', { name: 'Number' });
    fireEvent.click(head);
    fireEvent.click(head);
    expect(shown()[0]).toBe(1_000);
  });

  it('shows the time zone in the header of a column with times', () => {
    setZone('utc');
    const columns = [{ id: 'at', header: 'Started', isTime: true, cell: () => '04:03:07' }];
    render(<DataTable label="Runs" columns={columns} rows={[1]} rowKey={(row) => row} />);
    expect(screen.getByRole('columnheader').textContent).toBe('Started (UTC)');
    setZone('local');
  });
});
