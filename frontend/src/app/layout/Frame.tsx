/** Layout of every page: navigation, header, banners, running actions. */
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { ActionsDrawer } from '@/features/actions/ActionsDrawer';
import { LiveProvider } from '@/live/LiveProvider';
import { Banners } from './Banners';
import classes from './Frame.module.css';
import { Header } from './Header';
import { Nav } from './Nav';
import { PageAxis } from './PageAxis';
import { Search } from './Search';
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
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  useShortcuts({ onSearch: () => setOpen('search'), onHelp: () => setOpen('help') });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page starts at its top
  useEffect(() => {
    main.current?.scrollTo(0, 0);
  }, [pathname]);
  const close = () => setOpen(null);

  return (
    <div className={classes.frame}>
      <a className={classes.skip} href="#content">
        Skip to content
      </a>
      <Nav />
      <div className={classes.column}>
        <Header onSearch={() => setOpen('search')} onHelp={() => setOpen('help')} />
        <Banners />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also where nothing in it can be focused */}
        <main id="content" ref={main} className={classes.main} tabIndex={0}>
          <Outlet />
        </main>
        <ActionsDrawer />
      </div>
      {open === 'search' && <Search onClose={close} />}
      {open === 'help' && <ShortcutsHelp onClose={close} />}
    </div>
  );
}
