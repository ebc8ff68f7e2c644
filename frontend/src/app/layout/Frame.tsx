/** Layout of every page: navigation, header, banners, running actions. */
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { ActionsDrawer } from '@/features/actions/ActionsDrawer';
import { LiveProvider } from '@/live/LiveProvider';
import { Palette } from '../palette/Palette';
import { Banners } from './Banners';
import classes from './Frame.module.css';
import { Header } from './Header';
import { Nav } from './Nav';
import { PageAxis } from './PageAxis';
import { ShortcutsHelp } from './ShortcutsHelp';
import { useShortcuts } from './useShortcuts';

export function Frame() {
  return (
    <LiveProvider>
      <PageAxis>
        <Shell />
      </PageAxis>
    </LiveProvider>
  );
}

function Shell() {
  const [open, setOpen] = useState<'search' | 'help' | null>(null);
  const { pathname } = useLocation();
  useShortcuts({ onSearch: () => setOpen('search'), onHelp: () => setOpen('help') });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page starts at its top
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [pathname]);
  const top = useHeightVariable('--top');
  const bottom = useHeightVariable('--bottom');
  const close = () => setOpen(null);

  return (
    <div className={classes.frame}>
      <a className={classes.skip} href="#content">
        Skip to content
      </a>
      <Nav />
      <div className={classes.column}>
        <div className={classes.top} ref={top}>
          <Header onSearch={() => setOpen('search')} onHelp={() => setOpen('help')} />
          <Banners />
        </div>
        <main id="content" className={classes.main} tabIndex={-1}>
          <Outlet />
        </main>
        <div className={classes.bottom} ref={bottom}>
          <ActionsDrawer />
        </div>
      </div>
      {open === 'search' && <Palette onClose={close} />}
      {open === 'help' && <ShortcutsHelp onClose={close} />}
    </div>
  );
}

/**
 * Return a ref of an element at the edge of the window. Its height is stored in a CSS variable, so that content that stays visible
 * or is scrolled into view keeps clear of it.
 */
function useHeightVariable(name: '--top' | '--bottom') {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = element.current;
    if (!box) return;
    const { style } = document.documentElement;
    const observer = new ResizeObserver(() => style.setProperty(name, `${box.offsetHeight}px`));
    observer.observe(box);
    return () => {
      observer.disconnect();
      style.removeProperty(name);
    };
  }, [name]);
  return element;
}
