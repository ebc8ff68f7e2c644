/** Provider of the page's time axis, which is synchronized with the address. */
import { useMatches, useNavigate, useSearch } from '@tanstack/react-router';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { useLive } from '@/live/LiveProvider';
import { TimeAxisProvider } from '@/ui/chart/TimeAxisContext';
import { PageTimeAxis } from '../timeAxis';

const PageAxisContext = createContext<PageTimeAxis | null>(null);

export function PageAxis({ children }: { children: ReactNode }) {
  const live = useLive();
  const navigate = useNavigate();
  const { range, from, to, res } = useSearch({ strict: false });
  const [axis] = useState(
    () =>
      new PageTimeAxis(live, (zoom) => {
        void navigate({ to: '.', search: (now) => ({ ...now, ...zoom }), replace: true });
      }),
  );
  useEffect(() => axis.applySearch({ range, from, to, res }), [axis, range, from, to, res]);
  useEffect(() => {
    const measure = () => axis.fit(window.innerWidth);
    measure();
    window.addEventListener('resize', measure);
    return () => window.removeEventListener('resize', measure);
  }, [axis]);
  return (
    <PageAxisContext.Provider value={axis}>
      <TimeAxisProvider value={axis}>{children}</TimeAxisProvider>
    </PageAxisContext.Provider>
  );
}

export function usePageAxis(): PageTimeAxis {
  const axis = useContext(PageAxisContext);
  if (!axis) throw new Error('usePageAxis requires a PageAxis');
  return axis;
}

/** Return whether the page has a time axis. The time range and *Live* are shown only there. */
export const useHasTimeAxis = (): boolean =>
  useMatches({
    select: (matches) => matches.some(({ staticData, search }) => staticData.hasTimeAxis?.(search)),
  });
