/** Redirects from addresses of earlier releases, which bookmarks and messages can contain. */
import { type AnyRoute, createRoute, redirect } from '@tanstack/react-router';

interface NewAddress {
  to: string;
  hash?: string;
}

const MOVED: Readonly<Record<string, NewAddress>> = {
  timeline: { to: '/activity/timeline' },
  'timeline/incident/$uid': { to: '/activity/incidents/$uid' },
  alarms: { to: '/activity/alarms' },
  events: { to: '/activity/events' },
  audit: { to: '/activity/audit' },
  backups: { to: '/databases/backups' },
  availability: { to: '/databases/availability' },
  users: { to: '/settings', hash: 'users' },
  notifications: { to: '/settings', hash: 'notifications' },
};

/** Return the routes of the old addresses. Their type omits them, so that links cannot use them. */
export const movedPages = (parent: AnyRoute): [] =>
  Object.entries(MOVED).map(([path, address]) =>
    createRoute({
      getParentRoute: () => parent,
      path,
      beforeLoad: ({ params, location }) => {
        const uid = (params as { uid?: string }).uid;
        throw redirect({
          to: uid === undefined ? address.to : address.to.replace('$uid', encodeURIComponent(uid)),
          search: location.search,
          ...(address.hash !== undefined && { hash: address.hash }),
          replace: true,
        } as Parameters<typeof redirect>[0]);
      },
    }),
  ) as unknown as [];
