/** The shared time axis of the page. */
import { createContext, useContext } from 'react';
import type { TimeAxis } from './types';

const TimeAxisContext = createContext<TimeAxis | null>(null);

export const TimeAxisProvider = TimeAxisContext.Provider;

export function useTimeAxis(): TimeAxis {
  const axis = useContext(TimeAxisContext);
  if (!axis) throw new Error('charts need a TimeAxisProvider above them');
  return axis;
}
