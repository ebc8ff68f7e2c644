/** Fetch the data of a run: all existing data first, then new data once per second. */
import { useEffect, useState } from 'react';
import { fetchParts } from '@/api/benchmarks';
import type { BenchmarkPart } from '@/api/types';
import { RunSeries } from './runSeries';

const POLL_INTERVAL_MS = 1_000;
/** Seconds that are fetched again, because load nodes report the same second at different times. */
const REFETCHED_SECONDS = 3;

export function useRunSeries(uid: number, open: boolean): RunSeries {
  const [series] = useState(() => new RunSeries());
  // Rerender components that read the span when it grows.
  const [, setArrivals] = useState(0);
  useEffect(() => {
    const unmounted = new AbortController();
    const { signal } = unmounted;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let newest: BenchmarkPart | undefined;
    const poll = async () => {
      try {
        // Once the newest part has stopped growing, fetch all data to find the following part.
        const position = newest && {
          ...newest,
          since: Math.max(0, lastOf(newest) - REFETCHED_SECONDS),
        };
        const parts = await fetchParts(uid, position, signal);
        if (signal.aborted) return;
        const newestSecond = newest && lastOf(newest);
        series.add(parts);
        newest = parts.at(-1) ?? newest;
        if (newest && newestSecond === lastOf(newest)) newest = undefined;
        if (parts.length) setArrivals((count) => count + 1);
      } catch {
        newest = undefined; // the layout reports that the console is unavailable; polling continues
      }
      if (!signal.aborted && open) timer = setTimeout(poll, POLL_INTERVAL_MS);
    };
    void poll();
    return () => {
      unmounted.abort();
      clearTimeout(timer);
    };
  }, [uid, open, series]);
  return series;
}

const lastOf = (part: BenchmarkPart) => part.first + part.at.length - 1;
