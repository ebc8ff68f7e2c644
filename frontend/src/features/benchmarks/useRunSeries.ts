/** Fetches the seconds of a run: all that is there at first, then once a second what is new. */
import { useEffect, useState } from 'react';
import { fetchParts } from '@/api/benchmarks';
import type { BenchmarkPart } from '@/api/types';
import { RunSeries } from './runSeries';

const EVERY_MS = 1_000;
/** Seconds that are asked for again: load nodes tell of the same second at different times. */
const AGAIN = 3;

export function useRunSeries(uid: number, open: boolean): RunSeries {
  const [series] = useState(() => new RunSeries());
  // Whoever reads the span is drawn anew when it grows.
  const [, setArrivals] = useState(0);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let newest: BenchmarkPart | undefined;
    const look = async () => {
      try {
        // What follows the newest part is found by asking for everything, once it has stopped to grow.
        const place = newest && { ...newest, since: Math.max(0, lastOf(newest) - AGAIN) };
        const parts = await fetchParts(uid, place, signal);
        if (signal.aborted) return;
        const before = newest && lastOf(newest);
        series.add(parts);
        newest = parts.at(-1) ?? newest;
        if (newest && before === lastOf(newest)) newest = undefined;
        if (parts.length) setArrivals((count) => count + 1);
      } catch {
        newest = undefined; // the page tells that the console is away; this goes on when it is back
      }
      if (!signal.aborted && open) timer = setTimeout(look, EVERY_MS);
    };
    void look();
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [uid, open, series]);
  return series;
}

const lastOf = (part: BenchmarkPart) => part.first + part.at.length - 1;
