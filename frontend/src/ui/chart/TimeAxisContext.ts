/** Context of the time axis that the charts of a page share. */
import { createContext, useContext } from 'react';
import type { TimeAxis } from './types';

const TimeAxisContext = createContext<TimeAxis | null>(null);

export const TimeAxisProvider = TimeAxisContext.Provider;

export function useTimeAxis(): TimeAxis {
  const axis = useContext(TimeAxisContext);
  if (!axis) throw new Error('charts require a TimeAxisProvider');
  return axis;
}
