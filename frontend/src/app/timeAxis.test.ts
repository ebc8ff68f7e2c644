import { describe, expect, it } from 'vitest';
import type { FrameSearch } from './search';
import { PageTimeAxis } from './timeAxis';

const NOW = Date.parse('2026-03-04T10:07:03Z') / 1000;

function axisAt(search: FrameSearch) {
  const clock = { now: NOW };
  const axis: PageTimeAxis = new PageTimeAxis({ edge: () => clock.now }, (change) =>
    axis.applySearch({ ...search, ...change }),
  );
  axis.applySearch(search);
  return { axis, clock };
}

describe('PageTimeAxis', () => {
  it('moves every second in live ranges', () => {
    const { axis, clock } = axisAt({});
    expect(axis.window()).toEqual({ from: NOW - 300, to: NOW });
    clock.now += 1;
    expect(axis.window().to).toBe(NOW + 1);
    expect(axis.step()).toBe(1);
  });

  it('moves in complete intervals in stored ranges', () => {
    const { axis, clock } = axisAt({ range: 86_400 });
    const to = Date.parse('2026-03-04T10:10:00Z') / 1000;
    expect(axis.window()).toEqual({ from: to - 86_400, to });
    expect(axis.step()).toBe(300);
    clock.now += 176;
    expect(axis.window().to).toBe(to);
    clock.now += 1;
    expect(axis.window().to).toBe(to + 300);
  });

  it('resets one zoom at a time', () => {
    const { axis } = axisAt({});
    axis.zoom(NOW - 200, NOW - 100);
    axis.zoom(NOW - 150, NOW - 120);
    axis.reset();
    expect(axis.window()).toEqual({ from: NOW - 200, to: NOW - 100 });
    expect(axis.live.get()).toBe(false);
    axis.reset();
    expect(axis.window().to).toBe(NOW);
    expect(axis.live.get()).toBe(true);
  });

  it('zooms once if several charts report the same drag', () => {
    const navigated: FrameSearch[] = [];
    const axis = new PageTimeAxis({ edge: () => NOW }, (search) => navigated.push(search));
    axis.applySearch({ from: NOW - 200, to: NOW - 100 });
    axis.zoom(NOW - 150, NOW - 120);
    axis.zoom(NOW - 150, NOW - 120);
    axis.applySearch({ from: NOW - 150, to: NOW - 120 });
    axis.reset();
    axis.reset();
    expect(navigated.slice(-2).map(({ from }) => from)).toEqual([NOW - 200, undefined]);
  });

  it('limits events to the end of a zoomed window, or to the time of the pause', () => {
    const { axis } = axisAt({});
    expect(axis.eventsUntil()).toBeUndefined();
    const before = Date.now() / 1000;
    axis.toggleLive();
    expect(axis.eventsUntil()).toBeGreaterThanOrEqual(before);
    axis.toggleLive();
    expect(axis.eventsUntil()).toBeUndefined();
    axis.zoom(NOW - 200, NOW - 100);
    expect(axis.eventsUntil()).toBe(NOW - 100);
  });

  it('does not shift into the future', () => {
    const { axis } = axisAt({});
    axis.shift(-0.5);
    expect(axis.window()).toEqual({ from: NOW - 450, to: NOW - 150 });
    axis.shift(0.5);
    axis.shift(0.5);
    expect(axis.window().to).toBe(NOW);
  });

  it('does not move while paused', () => {
    const { axis, clock } = axisAt({});
    axis.toggleLive();
    clock.now += 10;
    expect(axis.window().to).toBe(NOW);
    axis.toggleLive();
    expect(axis.window().to).toBe(NOW + 10);
  });

  it('keeps the resolution of a link', () => {
    const window = { from: NOW - 86_400, to: NOW - 86_000 };
    expect(axisAt({ ...window, res: 300 }).axis.step()).toBe(300);
    expect(axisAt({ from: 0, to: NOW, res: 1 }).axis.step()).toBeGreaterThan(1);
  });
});
