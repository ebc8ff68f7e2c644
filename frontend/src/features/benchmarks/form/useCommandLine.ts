/** The pasted command line as the console reads it. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { parseCommandLine } from '@/api/benchmarks';
import { messageOf } from '@/api/http';
import type { ParsedCommandLine } from '@/api/types';

export interface CommandLineState {
  /** What the console read; undefined before its first reply. */
  parsed: ParsedCommandLine | undefined;
  /** Why no run can start with this line. */
  problem: string | undefined;
}

export function useCommandLine(text: string): CommandLineState {
  const line = useDeferredValue(text.trim());
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ['benchmarks', 'understand', line],
    queryFn: ({ signal }) => parseCommandLine(line, signal),
    enabled: line !== '',
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  if (line === '') return { parsed: undefined, problem: undefined };
  if (error) return { parsed: undefined, problem: messageOf(error) };
  if (data === undefined || isPlaceholderData || line !== text.trim())
    return { parsed: data, problem: 'Reading the command line…' };
  const errors = data.errors.map(({ description }) => description).join(' ');
  return { parsed: data, problem: errors || undefined };
}
